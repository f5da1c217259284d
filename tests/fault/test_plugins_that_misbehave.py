"""Real plugin files that do everything wrong; each is named, and everything else runs."""

import os
import textwrap

import pytest

from pfid.adapters.page import Page
from pfid.bootstrap.far_end import far_end
from pfid.bootstrap.plugin_worker import PluginWorker
from pfid.bootstrap.selftest import Bench, selftest
from pfid.config.model import Config, Plugins
from pfid.domain.gate import GateState
from pfid.host.foreign import directory, foreign_plugins
from pfid.policy.worker_life import LifeRules
from pfid.spec.check import Stage

GOOD = '''
"""Fails when the loop of {name} is quiet.

Blind spot: none, it is an example. When it fires: look.
"""

from dataclasses import dataclass

from pfid.spec import Check, Control, NoLimits, Outcome, Stage, Verdict, World, hookimpl
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog
from pfid.spec.ports.log import LogFacts


@dataclass(frozen=True)
class Seen:
    writers: int | None


def observe(world: World) -> Seen:
    facts = world.log.facts()
    return Seen(writers=None if facts is None else facts.writers)


def judge(seen: Seen, limits: NoLimits) -> Verdict:
    {in_judge}
    if seen.writers is None:
        return Verdict(outcome=Outcome.UNKNOWN, reason="no_log", summary="no log")
    if seen.writers > 1:
        return Verdict(outcome=Outcome.FAIL, reason="crowded", summary="several writers")
    return Verdict(outcome=Outcome.PASS, reason="alone", summary="one writer")


def log(facts: LogFacts | None) -> World:
    return World(subject=CONTROL_SUBJECT, log=FixedLog(log_facts=facts))


def controls(limits: NoLimits) -> tuple[Control, ...]:
    return (
        Control(name="one", world=log(LogFacts()), expect=Outcome.PASS, reason="alone"),
        Control(name="two", world=log(LogFacts(writers=2)), expect=Outcome.FAIL, reason="crowded"),
        Control(name="none", world=log(None), expect=Outcome.UNKNOWN, reason="no_log"),
    )


@hookimpl
def pfid_checks():
    {in_hook}
    yield Check(
        name="{name}",
        stage=Stage.WATCH,
        observe=observe,
        judge=judge,
        reasons={{"crowded": Outcome.FAIL, "alone": Outcome.PASS, "no_log": Outcome.UNKNOWN}},
        controls=controls,
        reads=("log",),
        runbook=__doc__,
    )
'''
RULES = LifeRules(start_deadline_s=10.0, deadline_s=1.5, term_grace_s=0.2, backoff_first_s=0.05)


def good(name, in_judge="pass", in_hook="pass"):
    return GOOD.format(name=name, in_judge=in_judge, in_hook=in_hook)


@pytest.fixture
def plugins(tmp_path):
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o755)

    def write(**files):
        for name, text in files.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
            (folder / f"{name}.py").chmod(0o644)
        return folder

    return write


def proven_in(folder, taken=frozenset(), rules=RULES):
    sources, refused = foreign_plugins([str(folder)], with_entry_points=False)
    assert not refused
    end = far_end(Page(synthetic=True).render)
    with PluginWorker(sources, limits={}, taken=taken, far_end=end, rules=rules) as worker:
        assert worker.host.wait_settled(60.0)
        gates = {g.check: g for g in worker.host.gates}
        problems = {}
        for p in worker.host.problems:
            problems[p.plugin] = problems.get(p.plugin, "") + p.what + "; "
    return gates, problems


def test_a_sound_plugin_is_proven_in_the_worker_through_the_real_page(plugins):
    gates, problems = proven_in(plugins(sound=good("sound")))
    assert problems == {}
    assert gates["sound"].why == ""
    assert gates["sound"].state is GateState.PROVEN
    assert [c.name for c in gates["sound"].controls] == [
        "one",
        "two",
        "none",
        "two: good, bad, good",
    ]


BROKEN = {
    "fails_to_import": ("import nothing_of_that_name\n", "cannot be loaded: ModuleNotFoundError"),
    "syntax_error": ("def (:\n", "cannot be loaded: SyntaxError"),
    "raises_at_import": ("raise RuntimeError('not today')\n", "RuntimeError: not today"),
    "exits_at_import": ("import sys; sys.exit(3)\n", "cannot be loaded: SystemExit"),
    "no_hook": ("x = 1\n", "implements no hook"),
    "misspelt_hook": (
        "from pfid.spec import hookimpl\n@hookimpl\ndef pfid_check():\n    return []\n",
        "pfid_check",
    ),
    "wrong_arguments": (
        "from pfid.spec import hookimpl\n@hookimpl\ndef pfid_checks(world):\n    return []\n",
        "world",
    ),
    "raises_in_hook": (
        good("raises_in_hook", in_hook="raise ValueError('late')"),
        "ValueError: late",
    ),
    "returns_none": (
        "from pfid.spec import hookimpl\n@hookimpl\ndef pfid_checks():\n    return None\n",
        "NoneType",
    ),
    "returns_nonsense": (
        "from pfid.spec import hookimpl\n@hookimpl\ndef pfid_checks():\n    return ['PASS', 7]\n",
        "yields str, not a Check",
    ),
    "returns_nothing": (
        "from pfid.spec import hookimpl\n@hookimpl\ndef pfid_checks():\n    return []\n",
        "yields no check",
    ),
    "yields_a_number": (
        "from pfid.spec import hookimpl\n@hookimpl\ndef pfid_checks():\n    while 1: yield 1\n",
        "yields int, not a Check",
    ),
    "never_ends_yielding": (
        good("never_ends_yielding").replace("yield Check(", "while True: yield Check("),
        "yields more than 200 checks",
    ),
    "no_controls": (
        good("no_controls").replace(
            "return (\n        Control", "return ()\n    (\n        Control"
        ),
        "no control expects FAIL",
    ),
    "another_name": (good("not_the_stem"), "must yield one check called another_name"),
    "hangs_at_import": ("while True: pass\n", "hung while it was loaded"),
    "dies_at_import": ("import os; os._exit(9)\n", "ended the worker while it was loaded"),
    "kills_itself": (
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n",
        "ended the worker while it was loaded",
    ),
}


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=BROKEN.keys())
def test_a_plugin_that_cannot_be_used_is_named_and_the_others_run(plugins, name, broken):
    text, said = broken
    folder = plugins(**{"a_first": good("a_first"), name: text, "z_last": good("z_last")})
    gates, problems = proven_in(folder)
    assert {n for n, g in gates.items() if g.state is GateState.PROVEN} == {"a_first", "z_last"}
    assert set(problems) == {name}
    assert said in problems[name]


UNSOUND = {
    "hangs_in_judge": ("while True: pass", "hung in a control or in sabotage of"),
    "sleeps_in_judge": ("import time; time.sleep(60)", "hung in a control or in sabotage of"),
    "dies_in_judge": ("import os; os._exit(0)", "ended the worker in a control"),
    "raises_in_judge": ("raise ValueError('no')", "check raised ValueError: no"),
    "exits_in_judge": ("raise SystemExit(0)", "check raised SystemExit"),
    "returns_nonsense_from_judge": ("return 'PASS'", "returned str, not a Verdict"),
}


@pytest.mark.parametrize(("name", "unsound"), UNSOUND.items(), ids=UNSOUND.keys())
def test_a_check_that_cannot_be_driven_is_unproven_and_the_others_run(plugins, name, unsound):
    in_judge, said = unsound
    text = good(name, in_judge=in_judge)
    folder = plugins(**{"a_first": good("a_first"), name: text, "z_last": good("z_last")})
    gates, problems = proven_in(folder)
    assert problems == {}
    assert {n for n, g in gates.items() if g.state is GateState.PROVEN} == {"a_first", "z_last"}
    assert gates[name].state is GateState.UNPROVEN
    assert said in gates[name].why


def test_a_name_that_is_taken_is_refused_and_the_first_keeps_it(plugins):
    folder = plugins(run_gone=good("run_gone"), sound=good("sound"))
    gates, problems = proven_in(folder, taken=frozenset({"run_gone"}))
    assert set(gates) == {"sound"}
    assert "its check run_gone is already there" in problems["run_gone"]


def test_the_whole_self_test_names_what_is_wrong_and_proves_the_rest(plugins):
    folder = plugins(sound=good("sound"), broken="raise RuntimeError('x')\n")
    config = Config(plugins=Plugins(directories=[str(folder)]))
    standing = selftest(Bench(config=config), (Stage.WATCH,))
    states = {g.check: g.state for g in standing.gates}
    assert states["sound"] is GateState.PROVEN
    assert states["broken"] is GateState.UNPROVEN
    assert "sound" in standing.infos


def test_a_plugin_never_runs_in_this_process(plugins):
    text = (
        good("sound")
        + "\nimport os\nopen(os.path.dirname(__file__) + '/pid', 'w').write(str(os.getpid()))\n"
    )
    folder = plugins(sound=text)
    selftest(Bench(config=Config(plugins=Plugins(directories=[str(folder)]))), (Stage.WATCH,))
    assert int((folder / "pid").read_text()) != os.getpid()


def writable_file(folder):
    (folder / "sound.py").chmod(0o666)


def writable_folder(folder):
    folder.chmod(0o777)


def strange_owner(folder):
    os.chown(folder / "sound.py", 4321, -1)


def linked(folder):
    (folder / "sound.py").rename(folder.parent / "elsewhere.py")
    (folder.parent / "elsewhere.py").chmod(0o666)
    (folder / "sound.py").symlink_to(folder.parent / "elsewhere.py")


def open_parent(folder):
    folder.parent.chmod(0o777)


REFUSED = {
    "a file everybody can write": (writable_file, "sound", "chmod go-w"),
    "a folder everybody can write": (writable_folder, "plugins", "chmod go-w"),
    "a link to a file everybody can write": (linked, "sound", "chmod go-w"),
    "a folder in a folder everybody can write": (open_parent, "plugins", "others can write"),
}


@pytest.mark.parametrize(("spoil", "plugin", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_others_could_have_put_there_is_refused_and_said(plugins, spoil, plugin, said):
    folder = plugins(sound=good("sound"))
    assert len(directory(folder, os.geteuid())[0]) == 1
    spoil(folder)
    found, refused = directory(folder, os.geteuid())
    assert found == ()
    assert refused[0].plugin == plugin
    assert said in refused[0].what


@pytest.mark.full
@pytest.mark.root
def test_a_file_of_another_user_is_refused(plugins):
    folder = plugins(sound=good("sound"))
    strange_owner(folder)
    found, refused = directory(folder, 0)
    assert found == ()
    assert "belongs to uid 4321" in refused[0].what


def test_a_folder_that_is_not_there_is_a_problem_not_a_crash(tmp_path):
    found, refused = directory(tmp_path / "nowhere", os.geteuid())
    assert found == ()
    assert "cannot be read" in refused[0].what


def test_a_plugin_that_is_called_like_a_shipped_check_does_not_switch_it_off(plugins):
    folder = plugins(run_gone=good("run_gone"))
    standing = selftest(Bench(config=Config(plugins=Plugins(directories=[str(folder)]))))
    gates = {gate.check: gate for gate in standing.gates}
    assert gates["run_gone"].state is GateState.PROVEN
    assert gates["plugin_run_gone"].state is GateState.UNPROVEN
    assert "already there" in gates["plugin_run_gone"].why
