"""Joins the mask probe to the training interpreter."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pfid.adapters.python_introspection import PythonIntrospection
from pfid.domain.masks import MaskReport
from pfid.formats.mask_report import MaskReportError, read_mask_report
from pfid.spec.ports.python import PythonAnswer
from pfid.spec.python_answers import PYTHON_SENTENCES

DEADLINE_S: Final = 300.0
"""Seconds: importing torch and transformers from a cold network disk is most of it."""


def look_at_masks(
    python: str, model: str, attention: Sequence[str] = (), width: int | None = None
) -> MaskReport:
    """Have the training interpreter say what its transformers makes of a model's masks.

    Args:
        python: the interpreter.
        model: folder, configuration file or hub id.
        attention: implementations to look at; all that are registered if empty.
        width: tokens a row; chosen by the window if None.

    Raises:
        MaskReportError: if there is no answer, or it is a refusal.
    """
    introspection = PythonIntrospection(python, os.environ, os.getcwd())  # noqa: PTH109
    place = Path(model)
    asked = {
        "model": str(place.resolve()) if place.exists() else model,
        "attention": list(attention) or None,
        "width": width,
    }
    return report_of(introspection.ask("mask", asked, deadline_s=DEADLINE_S), python)


def report_of(answer: PythonAnswer, python: str) -> MaskReport:
    """Take an interpreter's answer.

    Raises:
        MaskReportError: naming the interpreter and its last words.
    """
    if answer.said is None:
        last = answer.detail.strip().splitlines()[-1:] or [""]
        said = f": {last[0]}" if last[0] else ""
        reason = answer.problem.value
        raise MaskReportError(f"{python}: {PYTHON_SENTENCES[answer.problem]}{said}", reason)
    return read_mask_report(answer.said)
