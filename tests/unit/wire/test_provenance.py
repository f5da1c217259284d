import json

import pytest
from msgspec.structs import replace

from pfid.domain.errors import StateError
from pfid.domain.provenance import (
    CodeIdentity,
    CommandIdentity,
    FileIdentity,
    FileRole,
    GpuIdentity,
    HostIdentity,
    InterpreterIdentity,
    Manifest,
)
from pfid.domain.repository import GitChange, GitSubmodule
from pfid.policy.launch_environ import ALWAYS, launch_environ
from pfid.policy.provenance_fields import STANDARD, at_launch
from pfid.wire.provenance import absent_keys, decode_manifest, encode_manifest

WHOLE = Manifest(
    run_id="r",
    name="n",
    attempt=1,
    sampled_at_s=1.5,
    command=CommandIdentity(argv=("a",), environ=launch_environ({}, ("A",))),
    host=HostIdentity(gpus=(GpuIdentity(uuid="u", model=None, pci_bus_id="b"),)),
    code=CodeIdentity(
        changes=(GitChange(path="a", state=".M"),),
        submodules=(GitSubmodule(path="s", commit="c", checked_out=None),),
    ),
    interpreter=InterpreterIdentity(distributions={"torch": "2.13.0", "odd": None}),
    files=(FileIdentity(role=FileRole.DATASET, path="/d", sha256="0"),),
    fields=at_launch({"seed": 7}, "/spec", 2.0),
)


def test_a_manifest_comes_back_as_it_was():
    assert decode_manifest(encode_manifest(WHOLE), "here") == WHOLE


def test_every_key_is_always_written():
    data = json.loads(encode_manifest(WHOLE))
    assert not absent_keys(encode_manifest(WHOLE), WHOLE)
    for struct, key in ((WHOLE, None), (WHOLE.host, "host"), (WHOLE.code, "code")):
        found = data if key is None else data[key]
        assert set(found) == set(struct.__struct_fields__)


def test_a_key_that_is_absent_is_named_wherever_it_lacks():
    data = json.loads(encode_manifest(WHOLE))
    del data["end"], data["code"]["dirty"], data["files"][0]["sha256"]
    del data["fields"]["seed"]["observed"]
    body = json.dumps(data).encode()
    read = decode_manifest(body, "here")
    assert set(absent_keys(body, read)) == {
        "end", "code.dirty", "files.0.sha256", "fields.seed.observed",
    }  # fmt: skip


@pytest.mark.parametrize("name", STANDARD)
def test_a_standard_field_that_is_left_out_whole_is_absent(name):
    data = json.loads(encode_manifest(WHOLE))
    del data["fields"][name]
    body = json.dumps(data).encode()
    assert absent_keys(body, decode_manifest(body, "here")) == (f"fields.{name}",)


def test_a_variable_that_is_always_written_may_not_be_left_out():
    data = json.loads(encode_manifest(WHOLE))
    data["command"]["environ"] = {}
    body = json.dumps(data).encode()
    found = absent_keys(body, decode_manifest(body, "here"))
    assert found == tuple(f"command.environ.{name}" for name in ALWAYS)


def test_both_sides_of_a_pair_of_the_specs_own_are_there_from_the_launch_on():
    expected = {"my.filter": "my.dropped", "seed": ""}
    fields = at_launch({}, "/spec", None, expected)
    whole = replace(WHOLE, fields=fields, expected=expected)
    assert not absent_keys(encode_manifest(whole), whole)
    for name in ("my.filter", "my.dropped", "seed"):
        less = replace(whole, fields={n: f for n, f in fields.items() if n != name})
        assert absent_keys(encode_manifest(less), less) == (f"fields.{name}",)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no manifest"),
        (b"{", "no manifest"),
        (b"[]", "no manifest"),
        (b"\xff", "no manifest"),
        (b'{"schema": 1}', "missing required field"),
        (encode_manifest(WHOLE).replace(b'"schema": 1', b'"schema": 9'), "schema 9"),
        (encode_manifest(WHOLE).replace(b'"attempt": 1', b'"attempt": "x"'), r"\$.attempt"),
    ],
)
def test_what_is_no_manifest_is_refused_by_its_place(body, words):
    with pytest.raises(StateError, match=words) as raised:
        decode_manifest(body, "/run/provenance.json")
    assert "/run/provenance.json" in str(raised.value)


def test_bytes_that_are_no_text_are_written_as_escapes():
    odd = replace(WHOLE, name="\udcff", fields={"\udcfe": WHOLE.fields["seed"]})
    read = decode_manifest(encode_manifest(odd), "here")
    assert read.name == "\\udcff"
    assert "\\udcfe" in read.fields
