"""The mask probe's answer is taken whole, or refused with a reason."""

import json

import msgspec
import pytest

from pfid.analysis.mask_cases import healthy
from pfid.formats.mask_report import MaskReportError, read_mask_report


def test_what_a_report_says_survives_the_way_through_json():
    assert read_mask_report(json.loads(msgspec.json.encode(healthy()))) == healthy()


def test_a_refusal_keeps_its_code_and_its_words():
    with pytest.raises(MaskReportError, match="brings its own code") as caught:
        read_mask_report({"refused": "remote_code", "detail": "auto_map"})
    assert caught.value.reason == "remote_code"


@pytest.mark.parametrize(
    "said", [{}, {"masks": []}, {"transformers": 5}, {"refused": None}, {"masks": {"kind": "x"}}]
)
def test_an_answer_of_another_shape_is_none(said):
    with pytest.raises(MaskReportError, match="is not the mask probe's"):
        read_mask_report(said)
