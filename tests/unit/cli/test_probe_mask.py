"""What ``pfid probe mask`` says of a layer type in one line."""

from dataclasses import replace

import pytest

from pfid.analysis.mask_cases import SLIDING, healthy, tensor, with_mask
from pfid.analysis.mask_structure import read_masks
from pfid.cli.probe_mask import exit_of, summary_lines
from pfid.domain.masks import MaskCase
from pfid.domain.outcome import Outcome


def lines(report, *attention):
    return summary_lines(report, read_masks(report, attention))


def test_a_windowed_layer_is_said_as_the_playbook_says_it():
    assert lines(healthy(), "sdpa")[0] == (
        "sliding_attention max 1,024 allowed/row, saturates at row 1,023",
        Outcome.PASS,
    )


def test_a_wrong_mask_is_said_with_its_own_figures():
    wide = tensor(SLIDING, MaskCase.RIGHT_PAD, beyond=256, max_allowed=1_025, saturating_row=1_024)
    said, outcome = lines(with_mask(wide), "sdpa")[0]
    assert "max 1,025 allowed/row, saturates at row 1,024; window_off_by_one under sdpa" in said
    assert outcome is Outcome.FAIL


def test_a_wrong_keyword_is_said_though_every_count_is_right():
    said, outcome = lines(replace(healthy(), flash_window=1_025))[0]
    assert said.endswith("; window_off_by_one under flash_attention_2")
    assert outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.PASS, 0),
        (Outcome.NOT_APPLICABLE, 0),
        (Outcome.FAIL, 1),
        (Outcome.UNKNOWN, 3),
    ],
)
def test_the_exit_status_is_the_outcomes(outcome, status):
    assert exit_of(outcome) == status
