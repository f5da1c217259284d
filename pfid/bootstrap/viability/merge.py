"""A merge that is meant: the adapter, what it shall be merged into, and what came of it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pfid.adapters.config_file import UnreadableFileError, read_config_file
from pfid.adapters.model_files import ADAPTER
from pfid.adapters.weight_identities import read_identity
from pfid.bootstrap.viability.recorded_base import base_at_launch
from pfid.domain.weight_identity import WeightIdentity
from pfid.formats.untrusted import printable
from pfid.wire.weight_identity import BESIDE

NAME_MAX_CHARS: Final = 120
WEIGHTS: Final = "adapter_model.safetensors"


@dataclass(frozen=True, kw_only=True)
class Merge:
    """What is asked about.

    Attributes:
        adapter: folder of an adapter, or of a save of the whole model.
        target: folder that it shall be merged into, or was trained on.
        merged: folder of what came of the merge; None before it.
        targets: names of modules that were trained; those of the adapter if empty.
        run: the run that made the adapter, where its provenance holds the base; "" to be found.
        full: whether every byte is compared.
        share: of the adapter that was merged on purpose; 1 for all of it.
        environ: of the asker.
        say: told how far a long reading is.
    """

    adapter: Path
    target: Path
    merged: Path | None = None
    targets: tuple[str, ...] = ()
    run: str = ""
    full: bool = False
    share: float = 1.0
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    say: Callable[[str], None] = lambda _: None

    @property
    def name(self) -> str:
        """What verdicts call it: never a path."""
        return printable(self.folder.name or "adapter", NAME_MAX_CHARS)

    @property
    def folder(self) -> Path:
        """Where the adapter lies."""
        whole = Path(os.path.abspath(self.adapter))  # noqa: PTH100 - a link is not followed
        return whole if self.adapter.is_dir() else whole.parent

    @property
    def is_adapter(self) -> bool:
        """Whether it is an adapter, and no save of the whole model."""
        return any((self.folder / name).exists() for name in (ADAPTER, WEIGHTS))

    @cached_property
    def configured(self) -> Mapping[str, Any]:
        """The adapter's configuration; empty where there is none that can be read."""
        try:
            found = read_config_file(self.folder / ADAPTER)
        except UnreadableFileError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def named(self) -> str:
        """How the adapter calls its base."""
        said = self.configured.get("base_model_name_or_path")
        return printable(said, NAME_MAX_CHARS) if isinstance(said, str) else ""

    def recorded(self) -> tuple[str, WeightIdentity] | None:
        """The base that was recorded and who did; None if nobody did.

        Raises:
            StateError: if a record cannot be read.
            NoManifestError: if the run that is named is none.
        """
        if self.run:
            at_launch = base_at_launch(self.run, self.folder, self.environ)
            return None if at_launch is None else ("launch", at_launch)
        beside = read_identity(self.folder / BESIDE)
        if beside is not None:
            return "beside", beside
        at_launch = base_at_launch("", self.folder, self.environ)
        return None if at_launch is None else ("launch", at_launch)
