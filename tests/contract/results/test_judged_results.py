"""What was judged before is found by name, and an answer that cannot be had is no "new"."""

import pytest

from pfid.adapters.judged_results import FOLDER, KEPT, keep, newest_other
from pfid.domain.errors import StateError
from pfid.spec.ports.results import PreviousResult


def judgement(digest, at_s, name="run"):
    figures = {"exclusions_balanced": {"candidate_lost": 18.0}}
    return PreviousResult(name=name, judged_at_s=at_s, digest=digest, figures=figures)


def test_the_newest_over_other_records_is_found(tmp_path):
    for digest, at_s in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        keep(tmp_path, judgement(digest, at_s))
    assert newest_other(tmp_path, "run", "c").digest == "b"
    assert newest_other(tmp_path, "run", "x").digest == "c"
    assert newest_other(tmp_path, "run", "x").figures["exclusions_balanced"]["candidate_lost"] == 18
    assert newest_other(tmp_path, "other", "x") is None


def test_judging_the_same_records_again_is_no_earlier_run(tmp_path):
    for at_s in (1.0, 2.0):
        keep(tmp_path, judgement("a", at_s))
    assert newest_other(tmp_path, "run", "a") is None
    assert len(list(tmp_path.glob(f"{FOLDER}/*/*.json"))) == 1


def test_names_that_look_alike_are_not_mixed_up(tmp_path):
    keep(tmp_path, judgement("a", 1.0, "run 1"))
    keep(tmp_path, judgement("b", 1.0, "run/1"))
    assert newest_other(tmp_path, "run 1", "x").digest == "a"


def test_a_record_that_cannot_be_read_is_not_none(tmp_path):
    path = keep(tmp_path, judgement("a", 1.0))
    path.write_text("{}")
    with pytest.raises(StateError, match="cannot be read"):
        newest_other(tmp_path, "run", "x")
    keep(tmp_path, judgement("b", 0.5))
    assert newest_other(tmp_path, "run", "x").digest == "b"


def test_not_all_of_them_are_kept(tmp_path):
    for i in range(KEPT + 5):
        keep(tmp_path, judgement(str(i), float(i)))
    assert len(list(tmp_path.glob(f"{FOLDER}/*/*.json"))) == KEPT


def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    """A file stands where the folder would be made: that stops root too."""
    (tmp_path / "state").write_text("")
    with pytest.raises(StateError, match="cannot be written"):
        keep(tmp_path / "state", judgement("a", 1.0))
