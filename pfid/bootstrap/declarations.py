"""What a project's spec says about a run's provenance, its paths made absolute."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from pfid.config.provenance import Provenance
from pfid.domain.errors import ConfigError
from pfid.domain.provenance import FileRole

SPEC: Final = "preflight.toml"
"""Where a spec is looked for in the working directory."""
NOTHING: Final = Provenance()


class Declarations(Struct, frozen=True, kw_only=True):
    """What is declared.

    Attributes:
        table: as written.
        file: the spec itself, absolute; "" without one.
        python: the training interpreter it names; "" if none.
        problem: why a spec that lies there is not used; "" if it is, or there is none.
    """

    table: Provenance = NOTHING
    file: str = ""
    python: str = ""
    problem: str = ""

    def inputs(self) -> list[tuple[FileRole, str]]:
        """Every declared input, the spec first."""
        table = self.table
        return [
            *([(FileRole.CONFIG, self.file)] if self.file else []),
            *((FileRole.CONFIG, self._absolute(path)) for path in table.config),
            *((FileRole.DATASET, self._absolute(path)) for path in table.datasets),
            *((FileRole.AUXILIARY, self._absolute(path)) for path in table.auxiliary),
        ]

    def outputs(self) -> list[tuple[FileRole, str]]:
        """Every declared artefact."""
        return [(FileRole.ARTEFACT, self._absolute(path)) for path in self.table.artefacts]

    @property
    def base(self) -> str:
        """Folder of the base that is trained; "" if none is declared."""
        return self._absolute(self.table.base) if self.table.base else ""

    def _absolute(self, path: str) -> str:
        return _from(self.file, path)


def declarations(named: str | None, cwd: str, say: Callable[[str], None]) -> Declarations:
    """Read the spec that is named, or the one that lies in the working directory.

    One that nobody named and that cannot be used stops no launch: it may be another program's.
    The manifest says so.

    Raises:
        ConfigError: if the named one cannot be used.
    """
    file = os.path.join(cwd, named or SPEC)  # noqa: PTH118 - plain strings cost least
    if named is None and not os.path.lexists(file):
        return Declarations()
    from pfid.config.preflight.spec import load_spec

    try:
        spec = load_spec(Path(file))
    except ConfigError as error:
        if named is not None:
            raise
        say(f"{file} is not used: {error.problems[0]}")
        return Declarations(file=file, problem="spec_unusable")
    return Declarations(
        table=spec.provenance or NOTHING, file=file, python=_interpreter(spec.python, file)
    )


def _interpreter(named: str, file: str) -> str:
    """A path is meant from the spec's folder, a bare name from PATH."""
    return _from(file, named) if "/" in named else named


def _from(file: str, path: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(file), path))  # noqa: PTH118, PTH120
