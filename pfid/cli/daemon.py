"""``pfid daemon``: the box's watchdog, or one run's own engine."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from pfid.domain.errors import ConfigError, PfidError

EXIT_CONFIG = 2
EXIT_CANNOT = 3


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
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Watch one run only, with the state below its folder (pfid run starts this).",
)
def command(config_file: Path | None, run_dir: Path | None) -> None:
    """Run the box's watchdog (systemd starts it).

    SIGHUP reads the configuration again; a bad one is refused whole and the old one kept.
    """
    from pfid.bootstrap.daemon import box_place, build, engine_place
    from pfid.config.load import load

    try:
        chosen = _chosen(config_file, embedded=run_dir is not None)
        config = load(chosen)
        if run_dir is not None:
            place = replace(engine_place(run_dir, os.environ), config_file=chosen)
        else:
            place = box_place(config, chosen, os.environ)
        daemon = build(place, config, os.environ)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_CONFIG)
    except (PfidError, OSError) as error:
        click.echo(f"pfid daemon cannot start: {error}", err=True)
        sys.exit(EXIT_CANNOT)
    daemon.run()


def _chosen(named: Path | None, *, embedded: bool) -> Path | None:
    """Return the file that is named, or the one in its fixed place if there is one."""
    from pfid.config.paths import config_file

    path = named or config_file(os.environ, embedded=embedded)
    asked_for = named is not None or bool(os.environ.get("PFID_CONFIG"))
    return path if path is not None and (asked_for or path.exists()) else None
