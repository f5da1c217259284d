"""What a training process imports: standard library only, Python 3.9 syntax.

``from pfid.trainer import cache_key`` loads the one file that holds it and no other, but for
``observe``, whose file is called like it. Every import inside is relative, so that a copy of this
folder works under any name.
"""

from importlib import import_module
from typing import Any, List

from .observe import configured, observe

__all__ = ["configured", "observe"]

_FILE_OF = {
    "Accounting": "accounting",
    "PairedBucketSampler": "paired_bucket",
    "StepReporter": "step_reporter",
    "accepts": "signature",
    "adapter_norms": "resolved",
    "cache_key": "content_key",
    "configured_template": "template",
    "content_sha256": "content_key",
    "implementations": "resolved",
    "observe_adapter": "resolved",
    "observe_model": "resolved",
    "observe_template": "template",
    "optimizer_steps": "step_arithmetic",
    "rendered_sha256": "template",
    "step_time_summary": "step_times",
    "template_sha256": "template",
    "warmup_steps_from_ratio": "step_arithmetic",
}


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_FILE_OF[name]}"), name)


def __dir__() -> List[str]:
    return sorted([*globals(), *_FILE_OF])
