"""Pattern files are found beside the spec, and the shipped ones can be left out."""

from pfid.bootstrap.judge.refusals import refusal_facts
from pfid.spec.fakes_results import arm, record, result_facts
from pfid.spec.result_gates.refusal_retention import RefusalGate

RESULTS = result_facts(arm([record(1)]))


def test_nothing_is_read_where_nothing_is_asked(tmp_path):
    assert refusal_facts(None, tmp_path, RESULTS) is None


def test_own_files_come_behind_the_shipped_ones(tmp_path):
    (tmp_path / "nl.toml").write_text('language = "nl"\n')
    gate = RefusalGate(patterns=["nl.toml", "none.toml"])
    facts = refusal_facts(gate, tmp_path, RESULTS)
    assert [f.language for f in facts.files][0::10] == ["en", "nl"]
    assert facts.problems == ("none.toml: cannot be read: No such file or directory",)
    alone = refusal_facts(RefusalGate(patterns=["nl.toml"], shipped=False), tmp_path, RESULTS)
    assert [f.language for f in alone.files] == ["nl"]
