"""Is a ledger that no reader could make sense of refused, each fault by its name?"""

import pytest

from pfid.config import claims
from pfid.config.claims import load_claims, loads_claims
from pfid.domain.errors import ConfigError

WHOLE = {
    "key": '"k"',
    "text": '"t"',
    "date": "2026-08-24",
    "source": '{ kind = "measured", by = "run 2" }',
    "status": '"measured"',
}


def ledger(**changed):
    rows = {**WHOLE, **changed}
    return "[[claims]]\n" + "".join(f"{name} = {value}\n" for name, value in rows.items())


def refused(text):
    with pytest.raises(ConfigError) as caught:
        loads_claims(text)
    return caught.value.problems


def test_a_whole_one_is_read():
    assert loads_claims(ledger(figure="[1, 2]", unit='"h"')).claims[0].ends == (1.0, 2.0)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"status": '"superseded"'}, "superseded by what? name superseded_by, or what falls"),
        ({"superseded_by": '"b"'}, "names superseded_by and has status measured"),
        ({"figure": "nan"}, "the figure is not a number that can be looked for"),
        ({"figure": "[2, 1]"}, "the range ends before it begins"),
        (
            {"describes": '"run.json@sha256:abc"'},
            "describes is not like FILE@sha256:64 hexadecimal digits",
        ),
    ],
)
def test_what_contradicts_itself_is_refused_by_name(changed, problem):
    assert refused(ledger(**changed)) == (f"claims[0] k: {problem}",)


def test_a_table_that_is_wrong_is_not_judged_further():
    problems = refused(ledger(figure="[2, 1]", unknown="1"))
    assert len(problems) == 1
    assert "unknown" in problems[0]


def test_a_file_that_is_far_too_long_is_no_ledger(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "MAX_BYTES", 100)
    (tmp_path / "claims.toml").write_text("# " + "x" * 99)
    with pytest.raises(ConfigError, match="over 100 bytes is no ledger"):
        load_claims(tmp_path / "claims.toml")
