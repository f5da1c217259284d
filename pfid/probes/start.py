"""Start a probe of this folder inside the training interpreter.

    python start.py NAME ARGUMENTS...

Three things a probe must not do to the training it measures, so they are done here once:

- This folder leaves the module path, because a file of it may have the name of a module that torch
  imports; the current folder takes its place, as with ``python -m``. The probe runs as
  ``pfid_probes.NAME``, whatever pfid is or is not installed there.
- Descriptor 1 becomes standard error, so that nothing a library or the user's own code prints can
  be taken for an answer. Answers go to the descriptor that ``channel`` keeps.
- Warnings, environment and import order are left as the training has them.
"""

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import List

PACKAGE = "pfid_probes"
OLDEST = (3, 9)


def package(folder: Path) -> None:
    """Make this folder importable under a name nobody else has."""
    spec = importlib.util.spec_from_file_location(
        PACKAGE, str(folder / "__init__.py"), submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} holds no probes")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def main(arguments: List[str]) -> int:
    """Run the probe that is named first; its exit status."""
    folder = Path(__file__).resolve().parent
    if sys.path and Path(sys.path[0] or ".").resolve() == folder:
        del sys.path[0]
    sys.path.insert(0, str(Path.cwd()))
    answers = os.dup(1)
    os.dup2(2, 1)
    if sys.version_info < OLDEST:
        os.write(answers, b'{"event": "refused", "reason": "old_python"}\n')
        return 3
    package(folder)
    channel = importlib.import_module(PACKAGE + ".channel")
    channel.open_on(answers)
    probe = importlib.import_module(PACKAGE + "." + arguments[0])
    status: int = channel.conduct(probe.probe, arguments[1:])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
