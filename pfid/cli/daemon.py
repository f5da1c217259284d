"""``pfid daemon``: the box's watchdog, or one run's own engine."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pfid.domain.errors import ConfigError, PfidError

if TYPE_CHECKING:
    from pfid.config.load import ConfigFile

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

    try:
        file = _chosen(config_file, embedded=run_dir is not None)
        config = file.load()
        if run_dir is not None:
            place = replace(engine_place(run_dir, os.environ), config=file)
        else:
            place = box_place(config, file, os.environ)
        daemon = build(place, config, os.environ)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_CONFIG)
    except (PfidError, OSError) as error:
        click.echo(f"pfid daemon cannot start: {error}", err=True)
        sys.exit(EXIT_CANNOT)
    daemon.run()


def _chosen(named: Path | None, *, embedded: bool) -> "ConfigFile":
    """Return the file that is named, or the one in its fixed place, which need not be there."""
    from pfid.config.load import ConfigFile
    from pfid.config.paths import config_file

    path = named or config_file(os.environ, embedded=embedded)
    asked_for = named is not None or bool(os.environ.get("PFID_CONFIG"))
    return ConfigFile(path=path, required=asked_for)
