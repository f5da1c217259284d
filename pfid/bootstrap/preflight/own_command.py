"""A command of the project's own, run in its folder under a deadline."""

from collections.abc import Sequence
from typing import Final

from pfid.adapters.bounded_process import CannotStartError, Finished, found_program, run_bounded
from pfid.bootstrap.preflight.project import Project

SHELL: Final = "/bin/sh"
IN_FOLDER: Final = 'cd "$1" && shift && exec "$@"'
"""The folder is changed in the child: ours is shared by every thread."""
OUT_MAX_BYTES: Final = 1 << 26


def run_own(project: Project, command: Sequence[str], deadline_s: float) -> Finished | str:
    """Run it to its end; a text says why it cannot be started."""
    name, *arguments = command
    program = found_program(name, project.environ, str(project.folder))
    if program is None:
        return f"{name}: not found"
    argv = [SHELL, "-c", IN_FOLDER, "sh", str(project.folder), program, *arguments]
    try:
        return run_bounded(
            argv, project.environ, deadline_s=deadline_s, out_max_bytes=OUT_MAX_BYTES
        )
    except CannotStartError as error:
        return str(error)
