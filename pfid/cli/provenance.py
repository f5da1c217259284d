"""``pfid provenance``: what a run says about itself, each command in a module of its own."""

from typing import Final

import click

from pfid.cli.lazy_group import LazyGroup

ENTRIES: Final = {
    "audit": "List each configured field with its observed pair, or intent only.",
    "note": "Annotate an artefact beside it, never editing it.",
    "reconstruct": "Gather what can still be told of a run that recorded nothing.",
    "show": "Show what a run was launched with, and what was seen of it.",
}
"""Module ``pfid.cli.provenance_NAME`` holds each as ``command``."""


@click.command(cls=LazyGroup, entries=ENTRIES, module="pfid.cli.provenance_{}")
def command() -> None:
    """Show, audit, annotate and reconstruct the provenance of runs.

    RUN is a run's id, the beginning of one, a name (its latest run), or a provenance.json.
    """
