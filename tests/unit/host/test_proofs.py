"""Proofs age, and are void as soon as anything they mean has changed."""

import dataclasses
import json

import pytest

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.names import CheckName
from pfid.host import proofs
from pfid.host.proofs import ProofBook, core_digest, driver_version, proof_key, proven, surroundings
from pfid.host.registry import Where, discover
from pfid.policy.configured import with_limits
from pfid.spec.check import Hysteresis, Stage

NOW_S = 1_788_000_000.0
WEEK_S = 7 * 86_400.0


@pytest.fixture(scope="module")
def check():
    registry = discover(Where(stages=(Stage.WATCH,), entry_points=False))
    return registry.named("run_stalled").check


def gate(key="k", at_s=NOW_S, state=GateState.PROVEN):
    return Gate(
        check=CheckName("c"),
        stage="watch",
        state=state,
        proven_to=ProvenTo(controls=True, sabotage=True),
        key=key,
        proven_at_s=at_s,
    )


def test_a_proof_is_recalled_by_its_key_while_it_is_young(tmp_path):
    book = ProofBook(tmp_path / "proofs.json")
    assert book.keep([gate()]) == ""
    again = ProofBook(tmp_path / "proofs.json")
    assert again.recall("k", NOW_S + WEEK_S - 1, WEEK_S) == gate()
    assert again.recall("k", NOW_S + WEEK_S, WEEK_S) is None
    assert again.recall("k", NOW_S - 1, WEEK_S) is None
    assert again.recall("other", NOW_S, WEEK_S) is None


def test_only_what_is_proven_is_kept(tmp_path):
    book = ProofBook(tmp_path / "proofs.json")
    book.keep([gate("a", state=GateState.UNPROVEN), gate("b", state=GateState.DISABLED), gate("c")])
    again = ProofBook(tmp_path / "proofs.json")
    assert [again.recall(k, NOW_S) is not None for k in "abc"] == [False, False, True]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": 2, "gates": []}', '{"format": 1, "gates": [1]}', "\xff"],
)
def test_a_file_that_cannot_be_read_is_no_proof_and_no_error(tmp_path, text):
    (tmp_path / "proofs.json").write_bytes(text.encode("latin-1"))
    assert ProofBook(tmp_path / "proofs.json").recall("k", NOW_S) is None


def test_a_proof_filed_under_another_key_is_not_believed(tmp_path):
    path = tmp_path / "proofs.json"
    ProofBook(path).keep([gate("k")])
    data = json.loads(path.read_text())
    data["gates"][0]["state"] = "unproven"
    path.write_text(json.dumps(data))
    assert ProofBook(path).recall("k", NOW_S) is None


def test_proofs_that_cannot_be_written_are_said_and_hold(tmp_path):
    (tmp_path / "state").write_text("a file where the folder should be")
    book = ProofBook(tmp_path / "state" / "proofs.json")
    assert "cannot be kept" in book.keep([gate()])
    assert book.recall("k", NOW_S) == gate()


def test_nothing_is_left_beside_the_file(tmp_path):
    ProofBook(tmp_path / "proofs.json").keep([gate()])
    assert [p.name for p in tmp_path.iterdir()] == ["proofs.json"]


def test_the_key_changes_with_everything_a_proof_means(check):
    rests_on = surroundings("driver 1")
    key = proof_key(check, "source", rests_on)
    name = next(iter(f.name for f in dataclasses.fields(check.limits)))
    slower = with_limits(check, {name: getattr(check.limits, name) * 2})
    others = {
        "source": proof_key(check, "source 2", rests_on),
        "limits": proof_key(slower, "source", rests_on),
        "hysteresis": proof_key(
            dataclasses.replace(check, hysteresis=Hysteresis(fire_m=2, fire_n=2)),
            "source",
            rests_on,
        ),
        "cadence": proof_key(dataclasses.replace(check, cadence_s=9.0), "source", rests_on),
        "driver": proof_key(check, "source", surroundings("driver 2")),
    }
    assert key == proof_key(check, "source", surroundings("driver 1"))
    assert len({key, *others.values()}) == 1 + len(others)


def test_the_core_counts_by_content_so_that_a_changed_gate_voids_old_proofs(monkeypatch, tmp_path):
    before = core_digest()
    for folder in ("analysis", "domain", "formats", "policy", "spec"):
        (tmp_path / folder).mkdir()
    (tmp_path / "policy" / "proof.py").write_text("# another gate")
    monkeypatch.setattr(proofs.pfid, "__file__", str(tmp_path / "__init__.py"))
    core_digest.cache_clear()
    try:
        first = core_digest()
        (tmp_path / "policy" / "proof.py").write_text("# yet another")
        core_digest.cache_clear()
        assert len({before, first, core_digest()}) == 3
    finally:
        core_digest.cache_clear()


def test_the_driver_is_what_it_calls_itself_or_nothing(tmp_path):
    assert driver_version(tmp_path / "none") == ""
    (tmp_path / "version").write_text("NVRM version: 570.1\nGCC version: 12\n")
    assert driver_version(tmp_path / "version") == "NVRM version: 570.1"


def test_only_a_proof_gets_a_date(check):
    good = proven(check, "k", lambda _: gate(key="", at_s=None), NOW_S)
    bad = proven(check, "k", lambda _: gate(key="", at_s=None, state=GateState.UNPROVEN), NOW_S)
    assert (good.key, good.proven_at_s) == ("k", NOW_S)
    assert (bad.key, bad.proven_at_s) == ("k", None)
