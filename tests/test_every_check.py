"""Every shipped check, found by looking: a new file is held to all of this by itself."""

import ast
import dataclasses
import inspect
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from pfid.bootstrap.remedies import RUNNER_REMEDIES, remedies_of, remedy_for, remedy_of
from pfid.bootstrap.selftest import Bench, selftest
from pfid.cli.gate_output import denominator
from pfid.config.model import Config, Plugins
from pfid.domain.gate import GateState
from pfid.domain.outcome import Outcome
from pfid.host.registry import Where, discover
from pfid.policy.evaluate import attempt
from pfid.spec.check import Stage
from pfid.spec.engine_answers import ENGINE_REMEDIES
from pfid.spec.limits import shifted, shifts, units
from pfid.spec.model_answers import MODEL_REMEDIES
from pfid.spec.world import World
from pfid.wire.plugins import Evaluate as EvaluateOrder
from pfid.wire.plugins import check_info, decode_order, encode
from pfid.wire.worlds import PORTS, world_data, world_from

REGISTRY = discover(Where(entry_points=False))
CHECKS = [r.check for r in REGISTRY.checks]
README = Path(__file__).parents[1] / "plugins" / "README.md"

every_check = pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.name)


def module_of(check):
    return sys.modules[f"pfid_plugins.{check.stage.value}.{check.name}"]


@cache
def gates():
    found = selftest(Bench(config=Config()), tuple(Stage)).gates
    return {g.check: g for g in found}


def test_every_file_gives_its_check():
    assert REGISTRY.problems == ()
    folder = README.parent
    files = {f.stem for s in Stage for f in (folder / s.value).glob("[!_]*.py")}
    assert {c.name for c in CHECKS} == files
    assert files


@every_check
def test_it_is_proven(check):
    gate = gates()[check.name]
    assert gate.why == ""
    assert gate.state is GateState.PROVEN
    assert all(c.ok for c in gate.controls)
    assert all(s.caught for s in gate.sabotage)


def test_the_denominator_is_honest():
    counts = denominator(tuple(gates().values()))
    names = ("checks", "applicable", "ran", "firing", "proven")
    assert [counts[n] for n in names] == [len(CHECKS)] * 5


@every_check
def test_the_file_stem_is_its_name_and_the_docstring_is_its_runbook(check):
    module = module_of(check)
    assert Path(module.__file__).stem == check.name
    assert check.runbook == module.__doc__


@every_check
def test_the_docstring_names_its_blind_spot_and_what_to_do(check):
    text = inspect.cleandoc(check.runbook)
    assert re.match(r"(Fail|Say) (when|while|if|whether) ", text), (
        "the first line says what it fails on"
    )
    assert re.search(r"^Blind spot:", text, re.MULTILINE)
    assert re.search(r"^When it fires:", text, re.MULTILINE)


@pytest.mark.parametrize(
    "check", [c for c in CHECKS if c.stage is not Stage.WATCH], ids=lambda c: c.name
)
def test_whoever_cannot_look_is_told_what_to_do_about_that(check):
    """ "Too few repeats" asked for another trip point, and no answers for those named below."""
    viable = check.stage is Stage.VIABILITY
    shared = {**MODEL_REMEDIES, **ENGINE_REMEDIES} if viable else {}
    unknown = [code for code, outcome in check.reasons.items() if outcome is Outcome.UNKNOWN]
    when_it_fires = remedy_of(check.runbook)
    said = {code: remedy_for(check.name, check.runbook, code, shared) for code in unknown}
    assert [code for code, text in said.items() if text in ("", when_it_fires)] == []
    every = (when_it_fires, *remedies_of(check.runbook).values())
    assert [
        text for text in every if re.search(r"lines? (below|above)|named (below|above)", text)
    ] == []


@every_check
def test_a_remedy_is_of_a_reason_that_the_check_has(check):
    named = remedies_of(check.runbook)
    assert named.keys() <= check.reasons.keys()
    assert not named.keys() & RUNNER_REMEDIES.keys()
    assert all(named.values())


@every_check
def test_every_shift_of_a_limit_turns_a_control_that_sits_close_to_it(check):
    """Close means: the shift that the limit itself declares, and not a wider one."""
    controls = check.built_controls()
    for shift in shifts(check.limits):
        limits = shifted(check.limits, shift)
        answers = [
            attempt(check, c.world, lambda w, ls=limits: check.judge(check.observe(w), ls))
            for c in controls
        ]
        turned = [
            c.name
            for c, got in zip(controls, answers, strict=True)
            if not got.error and (got.verdict.outcome, got.verdict.reason) != (c.expect, c.reason)
        ]
        assert turned, f"no control sits just beside {shift.mutant}"


@every_check
def test_declared_shifts_are_narrow(check):
    """A control "just either side" of a limit that is shifted threefold proves little."""
    for f in dataclasses.fields(check.limits):
        kind, amount = f.metadata["pfid.shift"]
        assert kind == "delta" or amount <= 1.5, f"{f.name} is shifted by a factor of {amount}"


@every_check
def test_limits_have_units(check):
    assert all(units(check.limits).values())


@every_check
def test_it_reads_what_it_declares_and_nothing_else(check):
    """A world with only the declared ports is enough; one without any of them is not."""
    touched = set()

    class Spy:
        def __init__(self, name, port):
            self.name, self.port = name, port

        def __getattr__(self, attribute):
            touched.add(self.name)
            return getattr(self.port, attribute)

    for control in check.built_controls():
        ports = {name: Spy(name, getattr(control.world, name)) for name in PORTS}
        check.evaluate(World(subject=control.world.subject, **ports))
    assert touched == set(check.reads)


@every_check
def test_it_never_answers_for_a_world_that_is_not_there(check):
    got = attempt(check, World())
    assert got.verdict.outcome is Outcome.UNKNOWN
    assert got.verdict.reason == "port_unreadable"


@every_check
def test_public_text_holds_no_path_and_no_evidence(check):
    for control in check.built_controls():
        verdict = check.evaluate(control.world)
        assert verdict.summary
        assert "/" not in re.sub(r"\b\w+/\w+\b", "", verdict.summary)
        for line in verdict.evidence:
            assert line not in verdict.summary


@every_check
def test_its_worlds_travel_to_a_worker_and_say_the_same_there(check):
    for control in check.built_controls():
        data = world_data(control.world, check.reads)
        order = decode_order(encode(EvaluateOrder(id=1, check=check.name, world=data)))
        there = attempt(check, world_from(order.world)).verdict
        assert (there.outcome, there.reason) == (control.expect, control.reason)


@every_check
def test_it_can_be_described_without_its_code(check):
    info = check_info(check)
    assert info.reasons == dict(check.reasons)
    assert set(info.limits) == set(info.units)


@every_check
def test_it_stands_in_the_table_of_the_readme(check):
    row = rf"^\| `{check.name}` \| {check.stage.value} \| \S.*\|$"
    assert re.search(row, README.read_text(), re.MULTILINE), (
        f"add {check.name} to plugins/README.md"
    )


def test_the_readme_lists_no_check_that_does_not_exist():
    listed = re.findall(r"^\| `(\w+)` \| (\w+) \|", README.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted((c.name, c.stage.value) for c in CHECKS)


def readme_example():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (code,) = [block for block in blocks if "def pfid_checks" in block]
    return code


def test_the_check_in_the_readme_can_be_copied_and_is_proven(tmp_path):
    code = readme_example()
    (tmp_path / "too_many_skipped_steps.py").write_text(code)
    config = Config(plugins=Plugins(directories=[str(tmp_path)]))
    standing = selftest(Bench(config=config), (Stage.WATCH,), "too_many_skipped_steps")
    (gate,) = standing.gates
    assert gate.why == ""
    assert gate.state is GateState.PROVEN


def test_the_check_in_the_readme_is_as_short_as_it_says():
    tree = ast.parse(readme_example())
    assert len(readme_example().splitlines()) <= 130
    assert ast.get_docstring(tree).startswith("Fail when")
