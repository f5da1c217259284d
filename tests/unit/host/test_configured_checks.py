"""A configuration is held against the checks there are, and no more of them is loaded than that."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from pfid.cli.config import command
from pfid.config.load import loads
from pfid.domain.errors import ConfigError
from pfid.host.configured_checks import (
    problems_of_checks,
    problems_of_folders,
    problems_of_watch,
)

LIMIT = "[checks.collapse.limits]\nno_such_limit = 1\n"
WRONG = "[checks.run_stalled.limits]\nno_such_limit = 1\n"
LOADED = """
import sys
from pfid.config.load import loads
from pfid.host.configured_checks import problems_of_watch
from pfid.host.shipped import shipped_sources
from pfid.spec.check import Stage
names = [source.name for stage in Stage for source in shipped_sources(stage)]
assert "collapse" in names and "run_stalled" in names
loads("".join(f"checks.{name}.enabled = true\\n" for name in names), problems_of_watch)
assert "pfid_plugins.watch.run_stalled" in sys.modules
print(sorted({"numpy", "pfid_plugins.result.collapse"} & sys.modules.keys()))
"""


def test_a_daemon_that_reads_its_configuration_loads_nothing_that_its_sandbox_kills_it_for():
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("also", [problems_of_checks, problems_of_watch])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WRONG, "checks.run_stalled.limits.no_such_limit: no such limit"),
        ("checks.run_stalld.enabled = true", "did you mean 'run_stalled'?"),
        ("checks.colapse.enabled = true", "did you mean 'collapse'?"),
    ],
)
def test_what_nobody_has_is_named(also, text, said):
    with pytest.raises(ConfigError, match=r".") as refused:
        loads(text, also)
    assert said in str(refused.value)


def test_a_folder_of_plugins_that_is_not_there_is_named(tmp_path):
    """It was called good, and nobody said that no check of it is there."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "file").write_text("")
    places = [str(tmp_path / name) for name in ("mine", "nosuch", "file")]
    config = loads(f"plugins.directories = {places}")
    assert problems_of_checks(config) == ()
    missing, file = problems_of_folders(config)
    assert missing.startswith(f"plugins.directories[1]: {places[1]!r}: No such file or directory;")
    assert file.startswith(f"plugins.directories[2]: {places[2]!r}: is no folder; no check of it")
    (tmp_path / "c.toml").write_text(f"plugins.directories = {places[1:2]}")
    done = CliRunner().invoke(command, ["check", str(tmp_path / "c.toml")])
    assert (done.exit_code, "good" in done.output) == (2, False)
    assert "plugins.directories[0]" in done.output


def test_limits_of_other_stages_are_the_commands_matter():
    loads(LIMIT, problems_of_watch)
    with pytest.raises(ConfigError, match="no_such_limit"):
        loads(LIMIT, problems_of_checks)
