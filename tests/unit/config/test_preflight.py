"""Is a spec taken whole or refused with everything that is wrong in it?"""

import pytest

from pfid.config.preflight.spec import load_spec, loads_spec
from pfid.domain.errors import ConfigError


def problems(text):
    with pytest.raises(ConfigError) as refused:
        loads_spec(text)
    return refused.value.problems


def test_an_empty_spec_checks_nothing_that_is_the_projects_own():
    spec = loads_spec("")
    assert spec.tests is None
    assert spec.metrics == []


def test_every_problem_is_told_at_once_with_its_path():
    found = problems(
        """
        python = 3
        [tests]
        runner = "nose"
        rnu = true
        [checkpoints]
        folder = "out"
        [cache_key]
        files = { mask = "m" }
        """
    )
    assert len(found) == 5
    assert {p.split(":")[0] for p in found} == {
        "python",
        "tests.runner",
        "tests.rnu",
        "checkpoints.size_gb",
        "cache_key.function",
    }
    assert any("did you mean 'run'" in p for p in found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[cache_key]\nfunction="a:b"', "nothing that must change"),
        ('[cache_key]\nfunction="a:b"\nmust_change={x=1}', "stands in no kwargs"),
        ('[cache_key]\nfunction="a:b"\nkwargs={m=1}\nfiles={m="f"}', "is among kwargs too"),
        ('[[config.choices]]\nfile="f"\nkey="k"', "either `among` or `of`"),
        ('[[config.choices]]\nfile="f"\nkey="k"\namong=["a"]\nof="m:E"', "either"),
        ('[[config.ranges]]\nfile="f"\nkey="k"', "needs `min` or `max`"),
        ('[[config.ranges]]\nfile="f"\nkey="k"\nmin=2\nmax=1', "min is above max"),
        ('[[mutations]]\nfile="f"\nold="a"\nnew="a"\ntest="t"', "are the same"),
        ('[[metrics]]\nfunction="m:f"\ncontrols=[]', "length >= 1"),
        ('[[kwargs]]\ntarget="no colon"', "kwargs[0].target"),
        ('[cache_key]\nfunction="os; rm:x"\nfiles={m="f"}', "cache_key.function"),
        ("[smoke]", "either `run` or `manifest`"),
        ("[serving]", "serving: needs `model` or `command`"),
        ('[smoke]\nrun="a"\nmanifest="b"', "either `run` or `manifest`"),
        ("tests = 3", "is a table"),
        ("[tests", "not TOML"),
    ],
)
def test_what_contradicts_itself_is_refused(text, said):
    assert any(said in p for p in problems(text))


def test_a_file_that_cannot_be_read_says_how_to_make_one(tmp_path):
    with pytest.raises(ConfigError, match="pfid preflight --init"):
        load_spec(tmp_path / "preflight.toml")
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_spec(bad)
    bad.write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(ConfigError, match="no spec"):
        load_spec(bad)
    bad.write_text("x = 1")
    with pytest.raises(ConfigError, match=r"bad\.toml: x: unknown key"):
        load_spec(bad)
