"""Shipped checks are found by looking; what is wrong with one is named and stays its own."""

import sys
import textwrap

import pytest

from pfid.domain.gate import GateState
from pfid.host.plugins import Problem, Registry
from pfid.host.registry import Where, discover, unknown_checks
from pfid.spec.check import Stage

FILE = '''
    """Fails when nothing is right. Blind spot: everything. When it fires: look."""

    from dataclasses import dataclass

    from pfid.spec import Check, Control, Outcome, Stage, Verdict, World, hookimpl, limit
    from pfid.spec.fakes import FixedClock


    @dataclass(frozen=True)
    class Limits:
        late_s: float = limit(10.0, unit="s", factor=1.05)
        count: int = limit(3, unit="1", delta=1)


    @dataclass(frozen=True)
    class Seen:
        now_s: float


    def judge(seen, limits):
        outcome = Outcome.FAIL if seen.now_s > limits.late_s else Outcome.PASS
        return Verdict(outcome=outcome, reason=outcome.value, summary="")


    def controls(limits):
        for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN):
            world = World(clock=FixedClock(wall_s=limits.late_s))
            yield Control(name=outcome.value, world=world, expect=outcome, reason=outcome.value)


    @hookimpl
    def pfid_checks():
        yield Check(
            name="{name}",
            stage=Stage.{stage},
            observe=lambda w: Seen(w.clock.now_s()),
            judge=judge,
            reasons={{o.value: o for o in (Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN)}},
            controls=controls,
            limits=Limits(),
            reads=("clock",),
            runbook=__doc__,
        )
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package like pfid_plugins, with files of our choice in ``watch``."""
    name = f"shipped_{tmp_path.name.replace('-', '_')}"
    watch = tmp_path / name / "watch"
    watch.mkdir(parents=True)
    for folder in (watch, watch.parent):
        (folder / "__init__.py").write_text('"""Checks."""\n')
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(**files):
        for stem, text in files.items():
            (watch / f"{stem}.py").write_text(textwrap.dedent(text))
        return Where(stages=(Stage.WATCH,), package=name, entry_points=False)

    yield write
    for module in [m for m in sys.modules if m.startswith(name)]:
        del sys.modules[module]


def test_a_new_file_is_picked_up_by_itself(package):
    where = package(late=FILE.format(name="late", stage="WATCH"))
    registry = discover(where)
    assert registry.problems == ()
    assert [(r.check.name, r.plugin) for r in registry.checks] == [("late", "late")]
    assert len(registry.checks[0].source) == 64


def test_a_file_that_begins_with_an_underscore_is_no_check(package):
    assert discover(package(_shared="raise RuntimeError('not to be imported')")).checks == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FILE.format(name="other", stage="WATCH"), "must be called like its file"),
        (FILE.format(name="late", stage="RESULT"), "lies in watch/"),
        ("raise ValueError('broken')", "ValueError: broken"),
        ("x = 1", "implements no hook"),
        (FILE.format(name="Late", stage="WATCH"), "check name 'Late'"),
    ],
)
def test_a_file_out_of_place_is_named_and_the_others_run(package, text, said):
    registry = discover(package(late=text, right=FILE.format(name="right", stage="WATCH")))
    assert [r.check.name for r in registry.checks] == ["right"]
    (problem,) = registry.problems
    assert (problem.plugin, problem.check, problem.stage) == ("late", "late", "watch")
    assert said in problem.what


def test_configured_limits_move_the_check_and_its_controls(package):
    where = package(late=FILE.format(name="late", stage="WATCH"))
    (found,) = discover(where, {"late": {"late_s": 20, "count": 5.0}}).checks
    assert found.check.limits.late_s == 20.0
    assert type(found.check.limits.count) is int
    assert found.check.built_controls()[0].world.clock.now_s() == 20.0


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"lete_s": 1.0}, "no limit is called lete_s; it has: count, late_s"),
        ({"count": 2.5}, "2.5 is a fraction"),
        ({"late_s": float("nan")}, "no number"),
        ({"late_s": 0.0}, "does not move when shifted"),
    ],
)
def test_a_limit_that_cannot_be_used_takes_the_check_out_and_says_so(package, limits, said):
    registry = discover(package(late=FILE.format(name="late", stage="WATCH")), {"late": limits})
    assert registry.checks == ()
    assert said in registry.problems[0].what


def test_a_stage_nobody_ships_is_empty(package):
    where = package()
    assert discover(Where(stages=(Stage.RESULT,), package=where.package, entry_points=False)) == (
        Registry()
    )


def test_configuration_that_speaks_of_no_check_is_found(package):
    registry = discover(package(late=FILE.format(name="late", stage="WATCH"), bad="x = 1"))
    assert unknown_checks(["late", "bad", "lte"], registry) == ("lte",)


@pytest.mark.parametrize("name", ["run_gone", "7 wonders!", "…", "A-B", "x" * 200])
def test_whatever_a_plugin_is_called_its_gate_has_a_name_and_is_unproven(name):
    gate = Problem(plugin=name, what="broken").gate()
    assert gate.state is GateState.UNPROVEN
    assert gate.check
    assert "broken" in gate.why
