"""The mask probe's answer (pfid/probes/mask.py) as facts, or as the refusal that it is."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pfid.domain.errors import PfidError
from pfid.domain.masks import MaskReport

REFUSALS: Final = {
    "no_torch": "that interpreter has no torch; name the training interpreter with --python",
    "no_transformers": "transformers cannot be imported there",
    "old_transformers": "that transformers has no masking_utils; 4.53 or later has",
    "no_config": "there is no model configuration that transformers can read",
    "remote_code": "the model brings its own code, which is never executed",
    "unknown_signature": "a mask function of that transformers wants what this probe does not know",
    "bad_width": "no mask of that width can be looked at",
}


class MaskReportError(PfidError):
    """The probe refused, or its answer is none; ``reason`` is its code, "" for no answer."""

    def __init__(self, message: str, reason: str = "") -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.reason = reason


def read_mask_report(said: Mapping[str, Any]) -> MaskReport:
    """Take an answer.

    Raises:
        MaskReportError: if it is a refusal, or not what the probe answers.
    """
    refused = said.get("refused")
    if isinstance(refused, str):
        detail = str(said.get("detail") or "")
        text = REFUSALS.get(refused, refused)
        raise MaskReportError(f"{text} ({detail})" if detail else text, refused)
    try:
        return msgspec.convert(said, MaskReport)
    except msgspec.ValidationError as error:
        raise MaskReportError(f"the answer is not the mask probe's: {error}") from error
