"""GATES.toml: everything wrong is said at once, with its path; what is written down loads."""

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from pfid.config.claims import loads_claims
from pfid.config.gates import Fields, load_gates, loads_gates
from pfid.domain.errors import ConfigError
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.table import Table

ROOT = Path(__file__).parents[3]


def structs(kind):
    if isinstance(kind, type) and issubclass(kind, Table):
        return [kind]
    return [s for argument in get_args(kind) for s in structs(argument)]


def keys(kind, path):
    for key in msgspec.structs.fields(kind):
        inner = structs(key.type)
        below = f"{path}.{key.encode_name}" + ("[]" if inner and "list" in str(key.type) else "")
        yield below
        for one in inner:
            yield from keys(one, below)


def readme(title):
    found = re.search(rf"(?ms)^## {title}\n(.*?)(?=^## )", (ROOT / "README.md").read_text())
    return re.findall(r"```toml\n(.*?)```", found[1], re.DOTALL)


def test_everything_wrong_is_said_at_once():
    text = """
    nme = "x"
    [records]
    format = "csv"
    line_max_bytes = 1
    [records.fields]
    arm = "model"
    [arms.candidate]
    declared = 0
    [gates.length_conformance]
    unit = "letters"
    [gates.nothing]
    """
    with pytest.raises(ConfigError) as caught:
        loads_gates(text)
    said = "\n".join(caught.value.problems)
    for path in (
        "nme: unknown key; did you mean 'name'?",
        "records.format",
        "records.line_max_bytes",
        "arms.candidate.declared",
        "gates.length_conformance.unit",
        "gates.nothing: unknown key",
    ):
        assert path in said, path


def test_keys_that_do_not_go_together_are_refused():
    with pytest.raises(ConfigError, match=r"needs arms\.candidate\.name"):
        loads_gates('[records.fields]\narm = "model"')
    with pytest.raises(ConfigError, match="is the candidate's"):
        loads_gates('[arms.candidate]\nname = "a"\n[arms.baseline]\nname = "a"')
    with pytest.raises(ConfigError, match=r"gates\.length_conformance\.families\[0\]"):
        loads_gates('[[gates.length_conformance.families]]\nfamily = "rp"')


def test_what_is_not_there_says_how_to_get_one(tmp_path):
    with pytest.raises(ConfigError, match="pfid judge --init"):
        load_gates(tmp_path / "GATES.toml")


def test_nothing_at_all_is_a_spec():
    assert loads_gates("").records.fields == Fields()


def test_the_readmes_spec_loads_and_its_ledger_is_one():
    (spec,) = readme("Judge an evaluation")
    assert loads_gates(spec).gates.length_conformance.families[0].median == 650
    (ledger,) = readme("Keep claims")
    assert [c.status for c in loads_claims(ledger).claims] == ["measured", "derived", "superseded"]


def test_every_key_of_every_section_stands_in_the_readme_of_checks():
    text = (ROOT / "plugins" / "README.md").read_text()
    listed = set(re.findall(r"^\| `([\w.\[\]]+)` \|", text, re.MULTILINE))
    wanted = {
        path
        for gate in msgspec.structs.fields(Gates)
        for kind in structs(gate.type)
        for path in keys(kind, gate.encode_name)
    }
    assert wanted - listed == set()
    assert {p for p in listed if "." in p} - wanted == set()
