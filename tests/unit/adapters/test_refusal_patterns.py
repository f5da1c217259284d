"""Pattern files of a project: read, or named with what is wrong."""

import os

from pfid.adapters.refusal_patterns import MAX_BYTES, own_patterns, shipped_patterns


def test_english_is_the_first_that_ships():
    assert shipped_patterns()[0].language == "en"


def test_own_files_are_read_and_what_cannot_be_is_named(tmp_path):
    good = tmp_path / "nl.toml"
    good.write_text('language = "nl"\n')
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"# \xe9\n")
    huge = tmp_path / "huge.toml"
    huge.write_bytes(b"#" * (MAX_BYTES + 1))
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    deep = tmp_path / "deep.toml"
    deep.write_text("words = " + "[" * 5000)
    asked = [good, latin, huge, tmp_path / "none.toml", tmp_path, pipe, deep]
    files, problems = own_patterns(asked)
    assert [f.language for f in files] == ["nl"]
    assert [p.split(":")[0] for p in problems] == [path.name for path in asked[1:]]
    assert "not UTF-8" in problems[0]
    assert "over" in problems[1]
