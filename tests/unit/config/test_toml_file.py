"""A file of settings is taken whole or refused by name, and never waited for."""

import os

import pytest

from pfid.config.claims import load_claims
from pfid.config.gates import load_gates
from pfid.config.load import ConfigFile, load
from pfid.config.preflight.spec import load_spec
from pfid.config.toml_file import MAX_BYTES, load_file, toml_data
from pfid.config.triage import load_triage
from pfid.domain.errors import ConfigError

LOADERS = pytest.mark.parametrize("loads", [load, load_claims, load_gates, load_spec, load_triage])


def refusal(loads, path):
    with pytest.raises(ConfigError) as caught:
        loads(path)
    return caught.value.problems


@LOADERS
def test_what_is_no_file_is_refused_and_not_waited_for(loads, tmp_path):
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        (problem,) = refusal(loads, path)
        assert path.name in problem
        assert "is no file" in problem


@LOADERS
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\xff = 1", "not UTF-8"),
        (b"a = ", "not TOML"),
        (b"a = " + b"[" * 100_000, "not TOML"),
        (b"no_such_key_at_all = 1", "no_such_key_at_all"),
    ],
)
def test_every_problem_stands_under_the_files_name(loads, body, why, tmp_path):
    path = tmp_path / "settings.toml"
    path.write_bytes(body)
    problems = refusal(loads, path)
    assert all("settings.toml" in problem for problem in problems)
    assert any(why in problem for problem in problems)


@LOADERS
def test_none_is_said_with_the_systems_own_words(loads, tmp_path):
    (problem,) = refusal(loads, tmp_path / "none.toml")
    assert "none.toml: cannot be read: No such file or directory" in problem


@LOADERS
@pytest.mark.parametrize(
    ("name", "why"), [("x" * 300, "File name too long"), ("a\0b", "null byte")]
)
def test_a_name_that_cannot_even_be_looked_at_is_said(loads, name, why, tmp_path):
    (problem,) = refusal(loads, tmp_path / name)
    assert why in problem


def test_no_text_of_a_file_holds_a_zero_byte():
    text = 'a = "x\\u0000"\nc = ["", "\\u0000"]\n[[b]]\n"d\\u0000" = { e = "\\u0000", f = 0 }\n'
    with pytest.raises(ConfigError) as caught:
        toml_data(text)
    assert caught.value.problems == tuple(
        f"{path}: holds a zero byte" for path in ("a", "c[1]", "b[0].d\\0", "b[0].d\\0.e")
    )


def test_a_configuration_that_cannot_be_looked_at_is_not_taken_for_absent(tmp_path):
    assert ConfigFile(path=tmp_path / "none.toml").load() == ConfigFile().load()
    assert ConfigFile(path=tmp_path / "none" / "none.toml").load() == ConfigFile().load()
    with pytest.raises(ConfigError, match="cannot be read"):
        ConfigFile(path=tmp_path / ("x" * 300)).load()


def test_one_that_is_too_long_is_not_read(tmp_path):
    path = tmp_path / "long.toml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    (problem,) = refusal(lambda p: load_file(p, str, "spec"), path)
    assert problem == f"{path}: over {MAX_BYTES} bytes is no spec"
