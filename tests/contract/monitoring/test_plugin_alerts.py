"""A plugin's check brings its alerts, and they are proven as those of a shipped check are."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from pfid.bootstrap.monitoring import alert_legs, monitored
from pfid.bootstrap.plugin_alerts import PAGES_MAX, Foreign, Pages
from pfid.cli.monitoring import command
from pfid.config.model import Config, Plugins
from pfid.domain.gate import ControlResult, Gate, GateState, ProvenTo
from pfid.monitoring.rule import Alert

pytestmark = [pytest.mark.full, pytest.mark.needs("promtool")]
README = Path(__file__).parents[3] / "plugins" / "README.md"
NAME = "skips_steps"


@pytest.fixture
def folder(tmp_path):
    """The check that the README writes, where a box has its plugins."""
    example = re.search(r"```python\n(\"\"\"Fail when.*?)```", README.read_text(), re.DOTALL)[1]
    name = re.search(r'name="(\w+)"', example)[1]
    place = tmp_path / "plugins"
    place.mkdir(mode=0o755)
    file = place / f"{NAME}.py"
    file.write_text(example.replace(f'name="{name}"', f'name="{NAME}"'))
    file.chmod(0o644)
    return place


def boxed(folder, **more):
    return Config(plugins=Plugins(directories=(str(folder),)), **more)


def test_its_alerts_fire_and_stay_quiet_as_its_controls_say(folder):
    (result,) = alert_legs(boxed(folder), NAME)
    assert (result.check, result.problem) == (NAME, "")
    assert result.controls >= 3, "a failing, a passing and a blind one each made a page"


@pytest.mark.parametrize(
    "change",
    [
        lambda r: replace(r, expr=r.expr.replace("== 1", "== 2")),
        lambda r: replace(r, expr=r.expr.replace("== 1", ">= 0")),
        lambda r: replace(r, expr=r.expr + ' or pfid_check_failing{chek="x"}'),
    ],
    ids=["never", "always", "misspelt"],
)
def test_a_broken_alert_lets_the_plugins_check_down(folder, change):
    def spoil(groups):
        return tuple(
            replace(
                g,
                rules=tuple(
                    change(r) if isinstance(r, Alert) and r.labels.get("check") == NAME else r
                    for r in g.rules
                ),
            )
            for g in groups
        )

    (result,) = alert_legs(boxed(folder), NAME, spoil)
    assert result.problem


def test_shipped_checks_are_tried_beside_it_and_alone_without_it(folder):
    results = alert_legs(boxed(folder))
    assert {r.check for r in results} == {c.name for c in monitored(boxed(folder))}
    assert [r for r in results if not r.ok] == []
    (shipped,) = alert_legs(boxed(folder), "run_gone")
    assert shipped.ok


def test_a_plugin_whose_control_raises_is_let_down_with_its_reason(folder):
    file = folder / f"{NAME}.py"
    file.write_text(file.read_text().replace("    return Seen(skipped=None)", "    raise OSError"))
    (result,) = alert_legs(boxed(folder), NAME)
    assert "never reached a page" in result.problem


def test_a_plugin_that_ends_its_worker_brings_no_alert_and_takes_none_away(folder):
    (folder / "leaves.py").write_text("import os\nos._exit(3)\n")
    (folder / "leaves.py").chmod(0o644)
    (result,) = alert_legs(boxed(folder), NAME)
    assert result.ok, result.problem


def test_the_rules_that_are_printed_hold_both_its_alerts(folder, tmp_path):
    config = tmp_path / "pfid.toml"
    config.write_text(f'[plugins]\ndirectories = ["{folder}"]\n')
    done = CliRunner().invoke(command, ["rules", "--config", str(config)])
    assert done.exit_code == 0, done.output
    assert '"PfidSkipsSteps"' in done.stdout or "PfidSkipsSteps\n" in done.stdout
    assert "PfidSkipsStepsUnknown" in done.stdout
    assert "lower the learning rate or switch to bf16" in done.stdout


def test_a_control_without_a_page_is_named_and_one_that_needs_none_is_not():
    def control(name, expect):
        return ControlResult(name=name, expect=expect, got=expect, reason="r", ok=True)

    gate = Gate(
        check=NAME,
        stage="watch",
        state=GateState.PROVEN,
        proven_to=ProvenTo(controls=True),
        controls=(control("red", "fail"), control("none", "not_applicable")),
    )
    foreign = Foreign(gates={NAME: gate})
    assert foreign.problem(NAME) == "controls that never reached a page: red"
    assert Foreign(gates={NAME: replace(gate, controls=(), why="hung")}).problem(NAME) == "hung"
    assert Pages().shown == {}
    assert PAGES_MAX >= 50
