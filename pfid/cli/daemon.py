"""``pfid daemon``: the box's watchdog, or one run's own engine."""

import os
import sys
from pathlib import Path

import click

SPARING = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
}
"""The C library gives each thread memory of its own and keeps it; the daemon's threads need
little, and it lives for weeks. What is set already stays."""


@click.command()
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file. [default: PFID_CONFIG, else /etc/pfid/pfid.toml if it exists]",
)
@click.option(
    "--embedded",
    "run_dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True, resolve_path=True),
    help="Watch one run only, with the state below its folder (pfid run starts this).",
)
def command(config_file: Path | None, run_dir: Path | None) -> None:
    """Run the box's watchdog (systemd starts it).

    SIGHUP reads the configuration again; a bad one is refused whole and the old one kept.

    Exit codes: 0 it was asked to end, 2 the configuration cannot be used, 3 it cannot start, or a
    part of it ended by itself.
    """
    file = "-" if config_file is None else str(config_file.absolute())
    what = ("box", "-") if run_dir is None else ("embedded", str(run_dir))
    # The same process becomes the daemon: what the command line has loaded would stay for weeks.
    program = [sys.executable, "-P", "-m", "pfid.bootstrap.daemon_main", *what, file]
    os.execve(sys.executable, program, SPARING | os.environ)  # noqa: S606 - our own interpreter
