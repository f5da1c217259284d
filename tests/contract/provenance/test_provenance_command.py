"""``pfid provenance show|audit``: what is asked for, what was seen, what was changed."""

import hashlib
import json

import pytest

from pfid.domain.provenance import CodeIdentity, Field, FileIdentity, FileRole, InterpreterIdentity

SHA = "a" * 64


def test_a_manifest_is_shown_with_what_is_null_named(provenance):
    provenance.run(fields={"seed": Field(requested=7, observed=8)})
    done = provenance("show", "train")
    assert done.exit_code == 0
    assert "c" * 40 in done.stdout
    assert "1 distributions: torch 2.13.0" in done.stdout
    assert "attn_implementation" in done.stdout.partition("null")[2]
    assert "seed" not in done.stdout.partition("null")[2]


def test_problems_are_shown_in_words(provenance):
    provenance.run(
        code=CodeIdentity(problem="dubious_ownership"),
        interpreter=InterpreterIdentity(problem="python_hung"),
    )
    text = provenance("show", "train").stdout
    assert "not known: dubious ownership" in text
    assert "not known: python hung" in text


def test_a_run_is_found_by_id_beginning_name_and_path(provenance, tmp_path):
    folder = provenance.run("train-20260829")
    for wanted in ("train-20260829", "train-2", "train", folder, folder / "provenance.json"):
        assert provenance.json("show", wanted)[0]["manifest"]["run_id"] == "train-20260829"


def test_what_is_not_there_or_is_ambiguous_is_said(provenance, tmp_path):
    provenance.run("train-1")
    provenance.run("train-2")
    folder = provenance.records.make_run_dir("attached-1", 1)
    for wanted, words, code in (
        ("tra", "begins 2 runs: train-1, train-2", 2),
        ("nobody", "you have no run 'nobody'", 2),
        ("attached-1", "reconstruct", 3),
        (tmp_path / "no.json", "there is no", 3),
    ):
        done = provenance("show", wanted)
        assert done.exit_code == code, "as show, stop, events and report have it"
        assert words in done.stderr
    (folder / "provenance.json").write_text("{")
    assert "is no manifest" in provenance("show", "attached-1").stderr


def test_an_incomplete_manifest_is_shown_and_says_so(provenance):
    provenance.run(complete=False)
    for command in ("show", "audit"):
        done = provenance(command, "train")
        assert done.exit_code == 3
        assert "incomplete" in done.stderr


@pytest.mark.parametrize("command", ["show", "audit"])
def test_an_edited_manifest_fails_by_its_seal(provenance, command):
    file = provenance.run() / "provenance.json"
    file.write_text(file.read_text().replace("c" * 40, "d" * 40))
    said, code = provenance.json(command, "train")
    assert code == 1
    (drift,) = said["drift"]
    assert drift["role"] == "manifest"
    assert drift["found"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert "was edited after pfid wrote it" in provenance(command, "train").stderr


def test_an_artefact_that_was_changed_fails_and_an_input_takes_nothing_away(provenance, tmp_path):
    made, read = tmp_path / "adapter.bin", tmp_path / "mask.json"
    files = tuple(
        FileIdentity(role=role, path=str(path), sha256=hashlib.sha256(b"as it was").hexdigest())
        for role, path in ((FileRole.ARTEFACT, made), (FileRole.AUXILIARY, read))
    )
    made.write_bytes(b"as it was")
    read.write_bytes(b"edited")
    provenance.run(files=files)
    assert provenance.json("audit", "train") == (provenance.json("audit", "train")[0], 0)
    said, code = provenance.json("audit", "train", "--inputs")
    assert (code, [d["role"] for d in said["drift"]]) == (0, ["auxiliary"])
    made.write_bytes(b"edited")
    said, code = provenance.json("audit", "train")
    assert (code, [d["role"] for d in said["drift"]]) == (1, ["artefact"])
    made.unlink()
    said, code = provenance.json("audit", "train")
    assert (code, said["drift"][0]["found"]) == (1, None)


def test_a_pair_that_contradicts_fails(provenance, paired):
    provenance.run(fields={"template.sha256": paired("b" * 64)})
    said, code = provenance.json("audit", "train")
    assert code == 1
    (row,) = said["rows"]
    assert (row["field"], row["standing"]) == ("template.sha256", "contradicted")
    assert said["summary"]["contradicted"] == 1


def test_pairs_that_agree_and_mere_intent_do_not_fail(provenance, paired):
    fields = {"template.sha256": paired(SHA), "adapter.rank": Field(requested=64)}
    provenance.run(fields=fields)
    done = provenance("audit", "train")
    assert done.exit_code == 0
    assert "intent only" in done.stdout
    assert "paired" in done.stdout


def test_a_key_that_is_absent_fails(provenance):
    folder = provenance.run()
    data = json.loads((folder / "provenance.json").read_text())
    del data["code"]["dirty"]
    (folder / "provenance.json").write_text(json.dumps(data))
    (folder / "provenance.json.sha256").unlink()
    said, code = provenance.json("audit", "train")
    assert (code, said["absent"]) == (1, ["code.dirty"])


def test_a_manifest_that_configures_nothing_says_so(provenance):
    provenance.run()
    done = provenance("audit", "train")
    assert done.exit_code == 0
    assert "nothing to pair" in done.stderr
    assert done.stdout == ""


def test_hostile_text_reaches_no_terminal(provenance):
    provenance.run(fields={"\x1b[2Jx": Field(requested="\x1b[31m\u202e", observed="\n\x07")})
    for command in ("show", "audit"):
        done = provenance(command, "train")
        assert "\x1b" not in done.output
        assert "\u202e" not in done.output


def test_the_shapes_are_those_of_the_readme(provenance, documented):
    provenance.run(fields={"seed": Field(requested=7)})
    for command in ("show", "audit"):
        said, _ = provenance.json(command, "train")
        assert set(said) - {"schema"} == documented(f"`pfid provenance {command}`")
    assert set(said["rows"][0]) == documented("row of `pfid provenance audit`")
    manifest = provenance.json("show", "train")[0]["manifest"]
    whole = documented("`provenance.json`")
    assert set(manifest) <= whole
    assert whole - set(manifest) == set()
