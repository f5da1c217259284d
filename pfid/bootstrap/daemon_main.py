"""``python -m pfid.bootstrap.daemon_main``: the daemon without the command line around it.

``pfid daemon`` becomes this program once its options are read: click and what it loads would stay
resident for weeks otherwise.
"""

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pfid.adapters.lean_libraries import load_lean

# What is loaded here stays: to walk over it again and again would be a tenth of the start.
gc.disable()
load_lean()

from dataclasses import replace  # noqa: E402 - it loads inspect, which is lean now

from pfid.bootstrap.daemon import BrokenError, Daemon, build  # noqa: E402 - after it
from pfid.bootstrap.place import box_place, engine_place  # noqa: E402
from pfid.config.load import ConfigFile  # noqa: E402
from pfid.config.paths import config_file  # noqa: E402
from pfid.domain.errors import ConfigError, PfidError  # noqa: E402

EXIT_CONFIG: Final = 2
EXIT_CANNOT: Final = 3
EMBEDDED: Final = "embedded"
GC_PROVING: Final = (5_000, 20, 1_000)
"""While gates are proven; afterwards see ``settle_memory``."""


def main(argv: Sequence[str]) -> int:
    """Run a daemon.

    Args:
        argv: ``box`` or ``embedded``, the run's folder, the configuration file; "-" for none.
    """
    gc.freeze()
    gc.set_threshold(*GC_PROVING)
    gc.enable()
    try:
        kind, folder, file = argv
        daemon = _built(
            None if file == "-" else Path(file), Path(folder) if kind == EMBEDDED else None
        )
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_CONFIG
    except (PfidError, OSError) as error:
        sys.stderr.write(f"pfid daemon cannot start: {error}\n")
        return EXIT_CANNOT
    try:
        daemon.run()
    except BrokenError as error:
        sys.stderr.write(f"pfid daemon ends: {error}\n")
        return EXIT_CANNOT
    return 0


def _built(named: Path | None, run_dir: Path | None) -> Daemon:
    file = _chosen(named, embedded=run_dir is not None)
    config = file.load()
    if run_dir is not None:
        place = replace(engine_place(run_dir, os.environ), config=file)
    else:
        place = box_place(config, file, os.environ)
    return build(place, config, os.environ)


def _chosen(named: Path | None, *, embedded: bool) -> ConfigFile:
    """The file that is named, or the one in its fixed place, which need not be there."""
    path = named or config_file(os.environ, embedded=embedded)
    asked_for = named is not None or bool(os.environ.get("PFID_CONFIG"))
    return ConfigFile(path=path, required=asked_for)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
