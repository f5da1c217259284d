"""The Xid catalogue is data that agrees with the rest."""

import pytest

from pfid.analysis.gpu_xids import CATALOGUE, XidClass, meaning
from pfid.domain.gpu import FATAL_XIDS


def test_the_fatal_ones_are_those_after_which_nothing_is_called():
    assert {c for c, m in CATALOGUE.items() if m.kind is XidClass.FATAL} == FATAL_XIDS


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (13, XidClass.APPLICATION),
        (31, XidClass.APPLICATION),
        (43, XidClass.APPLICATION),
        (45, XidClass.FOLLOW_UP),
        (48, XidClass.HARDWARE),
        (63, XidClass.HARDWARE),
        (74, XidClass.HARDWARE),
        (94, XidClass.HARDWARE),
        (95, XidClass.HARDWARE),
        (79, XidClass.FATAL),
        (119, XidClass.FATAL),
    ],
)
def test_whose_fault_a_code_is(code, kind):
    assert meaning(code).kind is kind


def test_a_code_nobody_catalogued_is_not_guessed():
    assert meaning(9_999) is None


def test_meanings_are_clauses_of_a_public_sentence():
    for found in CATALOGUE.values():
        assert found.means
        assert "/" not in found.means
        assert not found.means.endswith(".")
