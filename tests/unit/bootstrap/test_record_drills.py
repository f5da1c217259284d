"""Is a live drill kept for those who ask before a launch, and never made better than it was?"""

import pytest

from pfid import __version__
from pfid.adapters.drill_record import recall_drill
from pfid.adapters.process_identity import machine_id
from pfid.bootstrap.live.record import record_drills
from pfid.bootstrap.live.session import DrillResult
from pfid.config.paths import user_state_dir


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("PFID_SOCKET", str(tmp_path / "none.sock"))
    return user_state_dir({"XDG_STATE_HOME": str(tmp_path)}, machine_id())


def drill(check, ok):
    return DrillResult(drill=f"{check}-1", check=check, ok=ok)


def test_one_failed_drill_of_a_check_is_its_result(state):
    record_drills([drill("a", True), drill("a", False), drill("b", True), drill("c", None)])
    kept = recall_drill(state)
    assert kept.results == {"a": False, "b": True}
    assert not kept.through_daemon


def test_where_nothing_was_tried_nothing_is_kept(state):
    record_drills([drill("c", None)])
    assert recall_drill(state) is None


def test_a_broken_record_is_none(state):
    state.mkdir(parents=True)
    (state / "live-drills.json").write_text("{")
    assert recall_drill(state) is None


@pytest.mark.parametrize("version", ["0.0.0-other", ""])
def test_a_drill_of_another_version_says_nothing_of_this_one(state, version):
    record_drills([drill("a", True)])
    file = state / "live-drills.json"
    text = file.read_text()
    assert f'"pfid":"{__version__}"' in text
    file.write_text(text.replace(__version__, version))
    assert recall_drill(state) is None
