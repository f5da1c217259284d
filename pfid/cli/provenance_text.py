"""What the commands of ``pfid provenance`` say alike."""

import json
from collections.abc import Sequence
from typing import Any, Final

from pfid.bootstrap.manifest_drift import Drift
from pfid.cli.output import note
from pfid.domain.provenance import Manifest

VALUE_MAX_CHARS: Final = 120


def shown(value: Any) -> str:
    """A value in a cell: ``-`` for null, text as it is, ``name=value`` for a table of numbers."""
    if value is None:
        return "-"
    if isinstance(value, str):
        text = value
    elif isinstance(value, dict) and all(_plain(item) for item in value.values()):
        text = " ".join(f"{name}={_short(item)}" for name, item in value.items())
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= VALUE_MAX_CHARS else f"{text[: VALUE_MAX_CHARS - 3]}..."


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def drift_json(drifts: Sequence[Drift]) -> list[dict[str, Any]]:
    """What is another thing now, as JSON."""
    return [
        {"path": d.path, "role": d.role, "recorded": d.recorded, "found": d.found} for d in drifts
    ]


def tell_drift(drifts: Sequence[Drift]) -> None:
    """Say on stderr what is another thing now."""
    for drift in drifts:
        now = "cannot be read now" if drift.found is None else f"is {drift.found} now"
        what = {
            "manifest": "was edited after pfid wrote it",
            "artefact": "is another than the run wrote",
            "annotated": "was changed after it was annotated",
        }.get(drift.role, "was changed after the launch, which takes nothing from the manifest")
        note(f"{drift.path} {what}: on record {drift.recorded}, {now}")


def tell_incomplete(manifest: Manifest) -> None:
    """Say on stderr that the end is missing."""
    if not manifest.complete:
        note(
            f"the manifest of {manifest.run_id} is incomplete: the run goes on, or its launcher "
            "died with it; what was sampled at launch stands"
        )
