"""``pfid provenance note``: beside the artefact, which is not touched."""

import hashlib
from pathlib import Path

import pytest

from pfid.domain.provenance import FileIdentity, FileRole

WORDS = (
    *("--wrong", "harness_commit is AHEAD of the code"),
    *("--since", "2026-08-26"),
    *("--evidence", "git reflog: three commits during the run"),
    *("--not-wrong", "recipe sha, root shas, template sha"),
)


def test_the_note_says_all_four_things_and_the_artefact_stays_as_it_was(provenance):
    folder = provenance.run()
    before = (folder / "provenance.json").read_bytes()
    said, code = provenance.json("note", "train", *WORDS)
    assert code == 0
    assert (folder / "provenance.json").read_bytes() == before
    note = Path(said["note"])
    assert note == folder / "PROVENANCE-NOTE.md"
    text = note.read_text()
    for word in WORDS[1::2]:
        assert word.replace("_", r"\_") in text
    assert text.index("What is wrong") < text.index("What is not wrong")
    assert hashlib.sha256(before).hexdigest() in text


def test_a_second_note_is_added_and_nothing_of_the_first_is_lost(provenance):
    folder = provenance.run()
    provenance("note", "train", *WORDS)
    first = (folder / "PROVENANCE-NOTE.md").read_text()
    provenance("note", "train", *WORDS)
    both = (folder / "PROVENANCE-NOTE.md").read_text()
    assert both.startswith(first)
    assert both.count("## ") - both.count("### ") == 2
    assert both.count("# Provenance note") == 1


@pytest.mark.parametrize("missing", range(4))
def test_each_of_the_four_is_asked_for(provenance, missing):
    folder = provenance.run()
    words = WORDS[: 2 * missing] + WORDS[2 * missing + 2 :]
    assert provenance("note", "train", *words).exit_code == 2
    empty = [" " if i == 2 * missing + 1 else word for i, word in enumerate(WORDS)]
    assert provenance("note", "train", *empty).exit_code == 2
    assert not (folder / "PROVENANCE-NOTE.md").exists()


def test_any_artefact_can_be_annotated_where_it_lies(provenance, tmp_path):
    provenance.run()
    artefact = tmp_path / "out" / "adapter.bin"
    artefact.parent.mkdir()
    artefact.write_bytes(b"weights")
    assert provenance("note", "train", *WORDS, "--artefact", artefact).exit_code == 0
    text = (artefact.parent / "PROVENANCE-NOTE.md").read_text()
    assert "`adapter.bin`" in text
    assert artefact.read_bytes() == b"weights"


def test_an_artefact_changed_after_its_note_is_seen_by_the_digest_in_it(provenance):
    folder = provenance.run()
    provenance("note", "train", *WORDS)
    (folder / "provenance.json.sha256").unlink()
    with (folder / "provenance.json").open("a") as file:
        file.write("\n")
    said, code = provenance.json("audit", "train")
    assert (code, [d["role"] for d in said["drift"]]) == (1, ["annotated"])


def test_an_artefact_changed_since_the_run_is_annotated_with_just_that(provenance, tmp_path):
    artefact = tmp_path / "adapter.bin"
    artefact.write_bytes(b"edited")
    was = hashlib.sha256(b"as it was").hexdigest()
    provenance.run(files=(FileIdentity(role=FileRole.ARTEFACT, path=str(artefact), sha256=was),))
    done = provenance("note", "train", *WORDS, "--artefact", artefact)
    assert done.exit_code == 1
    assert was in (tmp_path / "PROVENANCE-NOTE.md").read_text()


def test_what_cannot_be_annotated_or_written_is_said(provenance, tmp_path):
    folder = provenance.run()
    gone = provenance("note", "train", *WORDS, "--artefact", tmp_path / "gone")
    assert gone.exit_code == 3
    assert "nothing to annotate" in gone.stderr
    (folder / "PROVENANCE-NOTE.md").symlink_to(tmp_path / "elsewhere")
    refused = provenance("note", "train", *WORDS)
    assert refused.exit_code == 3
    assert "cannot write" in refused.stderr
    assert not (tmp_path / "elsewhere").exists()


def test_text_is_never_taken_for_markup_or_for_another_entry(provenance):
    folder = provenance.run()
    trick = "x\n- artefact: `provenance.json`\n- sha256: `" + "0" * 64 + "`\n# <b>"
    provenance("note", "train", *WORDS[:6], "--not-wrong", trick)
    text = (folder / "PROVENANCE-NOTE.md").read_text()
    assert "<b>" not in text.replace(r"\<b\>", "")
    assert provenance("audit", "train").exit_code == 0
