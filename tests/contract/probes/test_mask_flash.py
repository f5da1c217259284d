"""Flash attention's window is a keyword, and releases before 4.56 made it one too wide.

flash_attn lets a causal row see ``window_size[0]`` earlier positions and its own; transformers'
``sliding_window`` counts its own too. What the probe answered on releases of either kind is kept
in ``answers/`` by ``answers/record.py``, which installs a release and asks it (``--check`` holds a
release against what is kept); how each hands the keyword on is written here in its own words.
"""

import importlib.util
import json
from importlib.metadata import version
from pathlib import Path

import pytest

from pfid.analysis.mask_structure import read_masks
from pfid.domain.masks import MaskCase
from pfid.formats.mask_report import read_mask_report
from pfid.probes import mask_flash

ANSWERS = Path(__file__).parent / "answers"
SIZE, WIDTH = 1_024, 1_280


def answered(release):
    return read_mask_report(json.loads((ANSWERS / f"transformers-{release}.json").read_text()))


@pytest.mark.parametrize(
    ("release", "seen", "reason"),
    [
        ("4.53.0", SIZE + 1, "window_off_by_one"),
        ("4.55.4", SIZE + 1, "window_off_by_one"),
        ("4.56.0", SIZE, "right"),
    ],
)
def test_what_was_seen_of_a_release_is_judged_as_it_is(release, seen, reason):
    report = answered(release)
    assert (report.transformers, report.flash_window) == (release, seen)
    rows = read_masks(report).rows
    flash = {r.reason for r in rows if r.fact.attention == "flash_attention_2" and r.fact.size}
    assert flash == {reason}


def recorder():
    spec = importlib.util.spec_from_file_location("record", ANSWERS / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("release", ["4.53.0", "4.55.4", "4.56.0"])
def test_what_is_kept_of_a_release_is_what_its_recorder_writes(release):
    record, text = recorder(), (ANSWERS / f"transformers-{release}.json").read_text()
    answer = json.loads(text)
    assert record.written(answer) == text
    assert answer["model_type"] == record.MODEL["model_type"]
    assert answer["configured"] == {"sliding_attention": record.MODEL["sliding_window"]}
    assert sum(answer["layer_types"].values()) == record.MODEL["num_hidden_layers"]
    assert record.differences(answer, {**answer, "torch": "another"}) == []
    assert record.differences(answer, {**answer, "flash_window": 7}) == ["flash_window"]


@pytest.mark.full
@pytest.mark.torch
def test_the_recorder_keeps_nothing_of_another_release_than_the_one_asked_for(tmp_path):
    """It asks the one that is installed here: nothing is fetched."""
    here = version("transformers")
    with pytest.raises(SystemExit, match=f"asked was {here}, not 4.0.0"):
        recorder().asked("4.0.0", tmp_path, site="")


@pytest.mark.parametrize(
    ("release", "packed"), [("4.53.0", "documents_mixed"), ("4.55.4", "right"), ("4.56.0", "right")]
)
def test_every_other_mask_of_those_releases_keeps_its_window(release, packed):
    """4.53.0's mask functions take no positions, so that packed documents look at each other."""
    report = answered(release)
    for name in ("sdpa", "eager", "flex_attention"):
        rows = read_masks(report, (name,)).rows
        assert {r.fact.max_allowed for r in rows if r.fact.size} >= {SIZE}
        reasons = {case: {r.reason for r in rows if r.fact.case is case} for case in MaskCase}
        assert reasons.pop(MaskCase.PACKED) == {packed}
        assert all(reason == {"right"} for reason in reasons.values())


@pytest.mark.full
@pytest.mark.torch
class TestKeywords:
    """How a release hands the window on, seen by calling its own function."""

    @pytest.fixture
    def flash(self, monkeypatch):
        pytest.importorskip("transformers")
        from transformers import modeling_flash_attention_utils as flash

        monkeypatch.delattr(flash, "_process_flash_attention_kwargs")
        return flash

    @pytest.fixture
    def seen(self):
        torch = pytest.importorskip("torch")
        return lambda width=WIDTH: mask_flash.flash_window(torch, SIZE, width)

    def release(self, flash, monkeypatch, left):
        """A release of which the window's left side is that of its ``sliding_window``."""

        def forward(query, key, value, mask, *, sliding_window, **_):
            wide = key.shape[1] > sliding_window
            window = {"window_size": (left(sliding_window), left(sliding_window))} if wide else {}
            return flash.flash_attn_func(query, key, value, causal=True, **window)

        monkeypatch.setattr(flash, "_flash_attention_forward", forward)

    def test_a_left_side_of_the_whole_window_is_one_too_many(self, flash, monkeypatch, seen):
        self.release(flash, monkeypatch, lambda size: size)
        assert seen() == SIZE + 1

    def test_a_left_side_of_one_less_is_the_window(self, flash, monkeypatch, seen):
        self.release(flash, monkeypatch, lambda size: size - 1)
        assert seen() == SIZE

    def test_no_keyword_is_no_window(self, flash, monkeypatch, seen):
        self.release(flash, monkeypatch, lambda size: size)
        assert seen(width=SIZE) is None
        assert not hasattr(flash, "flash_attn_varlen_func")
