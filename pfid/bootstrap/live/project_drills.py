"""The drills of pre-launch checks: which fault is really planted in a project for which check.

Each walks good, bad, good: a scratch repository is really changed, the interpreter really asked,
a process really lives and dies, and the verdict comes through the adapters that ``pfid preflight``
looks with. There is no daemon, event or metric on that way.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pfid.adapters.drill_record import keep_drill
from pfid.bootstrap.live.project_ground import NAME, ProjectGround
from pfid.config.preflight import asked, declared, launched, source
from pfid.domain.provenance import (
    CodeIdentity,
    CommandIdentity,
    Ending,
    Field,
    HostIdentity,
    Manifest,
)
from pfid.policy.launch_environ import launch_environ
from pfid.policy.provenance_fields import at_launch

UNDRILLED: Final[Mapping[str, str]] = {
    "attention_mask_structure": (
        "each of its looks plants faults of its own, and is blind where it does not see them"
    ),
    "gpu_free": "no fault can be planted in a real card; the sampler it asks is drilled above",
}
"""Pre-launch checks without a drill, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectDrill:
    """One drill.

    Attributes:
        name: of the drill.
        check: whose verdict is looked at.
        adapters: what is really driven.
        walk: plants and looks.
    """

    name: str
    check: str
    adapters: frozenset[str]
    walk: Callable[[ProjectGround], None]


def changed_file(ground: ProjectGround) -> None:
    """A tracked file is changed after the commit."""
    ground.ask()
    ground.good("committed")
    ground.write("train.py", "print('something else')\n")
    ground.bad("uncommitted_changes")
    ground.commit()
    ground.good("committed")


def untracked_import(ground: ProjectGround) -> None:
    """The committed code imports a module that nobody committed."""
    ground.ask()
    ground.good("committed")
    ground.write("train.py", "import masks\n")
    ground.commit()
    ground.write("masks.py", "WINDOW = 1024\n")
    ground.bad("untracked_imported")
    ground.commit()
    ground.good("committed")


def failing_test(ground: ProjectGround) -> None:
    """A commit breaks a test."""
    ground.ask(tests=asked.Tests(runner="unittest"))
    _tested(ground, 2)
    ground.good("green")
    _tested(ground, 3)
    ground.bad("tests_failed")
    _tested(ground, 2)
    ground.good("green")


def _tested(ground: ProjectGround, answer: int) -> None:
    ground.write(
        "test_sum.py",
        "import unittest\n\n\nclass Sum(unittest.TestCase):\n"
        f"    def test_sum(self):\n        self.assertEqual(1 + 1, {answer})\n",
    )
    ground.commit()


def key_of_a_path(ground: ProjectGround) -> None:
    """A cache key hashes the path of a file in the place of its content."""
    ground.write("mask.json", "[1]\n")
    ground.ask(cache_key=asked.CacheKey(function="keys:key", files={"mask": "mask.json"}))
    content, path = "open(mask, 'rb').read()", "mask.encode()"
    for hashed, look in ((content, ground.good), (path, ground.bad), (content, ground.good)):
        digest = f"hashlib.sha256({hashed}).hexdigest()"
        ground.write("keys.py", f"import hashlib\n\n\ndef key(mask):\n    return {digest}\n")
        look("covers" if hashed == content else "not_covered")


def misspelt_argument(ground: ProjectGround) -> None:
    """An argument does not exist in the class that is installed."""
    for name, look in (("indent", ground.good), ("indents", ground.bad), ("indent", ground.good)):
        ground.ask(kwargs=[asked.Kwargs(target="json:JSONEncoder", arguments={name: 2})])
        look("accepted" if name == "indent" else "unknown_argument")


def number_out_of_range(ground: ProjectGround) -> None:
    """A number of the configuration leaves its range."""
    rate = declared.Range(file="train.toml", key="lr", min=0.0, max=0.1)
    ground.ask(config=declared.Declared(ranges=[rate]))
    for number, look in ((0.01, ground.good), (1.0, ground.bad), (0.01, ground.good)):
        ground.write("train.toml", f"lr = {number}\n")
        look("valid" if number < 1 else "out_of_range")


def unknown_word(ground: ProjectGround) -> None:
    """A word of the configuration is none of the installed enumeration's."""
    ground.write(
        "words.py", "import enum\n\n\nHow = enum.Enum('How', {'A': 'sdpa', 'B': 'flex'})\n"
    )
    choice = declared.Choice(file="train.toml", key="how", of="words:How")
    ground.ask(config=declared.Declared(choices=[choice]))
    for word, look in (("sdpa", ground.good), ("spda", ground.bad), ("flex", ground.good)):
        ground.write("train.toml", f'how = "{word}"\n')
        look("not_among" if word == "spda" else "valid")


def log_left_in_place(ground: ProjectGround) -> None:
    """A rotation does nothing."""
    for command, look in (([], ground.good), (["true"], ground.bad), ([], ground.good)):
        ground.ask(log=launched.Log(path="run.log", rotate=command))
        look("not_rotated" if command else "rotates")


def wrong_metric(ground: ProjectGround) -> None:
    """A metric counts what it should not."""
    controls = [
        asked.KnownAnswer(args=["no"], expect=1.0),
        asked.KnownAnswer(args=["yes"], expect=0),
    ]
    ground.ask(metrics=[asked.Metric(function="metric:refusals", controls=controls)])
    for word, look in (("no", ground.good), ("yes", ground.bad), ("no", ground.good)):
        ground.write("metric.py", f"def refusals(text):\n    return float(text == {word!r})\n")
        look("answers_known" if word == "no" else "wrong_answer")


def superseded_figure(ground: ProjectGround) -> None:
    """A figure that fell is written into a text again."""
    ground.write("claims.toml", _LEDGER)
    ground.ask(claims=source.Claims())
    for text, look in (("145.5 s", ground.good), ("4.3 h", ground.bad), ("145.5 s", ground.good)):
        ground.write("notes.md", f"The cache takes {text} to rebuild.\n")
        ground.commit()
        look("superseded_stands" if text == "4.3 h" else "none_left")


def name_taken(ground: ProjectGround) -> None:
    """A process lives under the name of the run, and is killed."""
    ground.ask(name=NAME)
    ground.good("free")
    end = ground.living_run(NAME)
    ground.bad("running")
    end()
    ground.good("free")


def refused_serving(ground: ProjectGround) -> None:
    """The engine refuses what would be served."""
    for word, look in (("true", ground.good), ("false", ground.bad), ("true", ground.good)):
        ground.ask(serving=launched.Serving(command=[word]))
        look("servable" if word == "true" else "refused")


def silent_watchdog(ground: ProjectGround) -> None:
    """In the last live drill a check did not fire."""
    ground.ask()
    for fired, look in ((True, ground.good), (False, ground.bad), (True, ground.good)):
        keep_drill(
            ground.state, at_s=time.time(), through_daemon=False, results={"run_gone": fired}
        )
        look("tested" if fired else "did_not_fire")


def absent_key(ground: ProjectGround) -> None:
    """A key of the manifest is left out where null should stand."""
    present = {"seed_used": Field()}
    for fields, look in ((present, ground.good), ({}, ground.bad), (present, ground.good)):
        _smoke(ground, fields, keys=["seed_used"])
        look("all_present" if fields else "key_absent")


def unseen_setting(ground: ProjectGround) -> None:
    """A setting has no observed consequence beside it."""
    for seen, look in ((7, ground.good), (None, ground.bad), (7, ground.good)):
        _smoke(ground, {"seed": Field(requested=7, observed=seen)})
        look("observed" if seen else "intent_only")


def unresolved_backend(ground: ProjectGround) -> None:
    """A backend was asked for, and nobody wrote down what it came to."""
    for came, look in (("sdpa", ground.good), (None, ground.bad), ("sdpa", ground.good)):
        _smoke(ground, {"attn_implementation": Field(requested="sdpa", resolved=came)})
        look("resolved" if came else "not_resolved")


def _smoke(
    ground: ProjectGround, fields: Mapping[str, Field], keys: list[str] | None = None
) -> None:
    """Leave the manifest of a smoke run of this very commit."""
    commit = ground.git("rev-parse", "HEAD")
    ground.ask()
    timed = {"step_seconds": Field(observed={"n": 3, "first": 0.2})}
    manifest = Manifest(
        run_id=f"{NAME}-1",
        name=NAME,
        attempt=1,
        sampled_at_s=time.time(),
        command=CommandIdentity(
            argv=("python", "train.py"), cwd=str(ground.folder), environ=launch_environ({})
        ),
        host=HostIdentity(hostname="selftest", boot_id="selftest", kernel="selftest"),
        code=CodeIdentity(commit=commit, describe=commit[:7], dirty=False),
        interpreter=ground.interpreter(),
        fields={**at_launch({}, "", None), **timed, **fields},
        complete=True,
        end=Ending(exit_code=0, signal=None, at_s=time.time()),
    )
    place = ground.manifest(manifest)
    ground.ask(smoke=launched.Smoke(manifest=str(place), keys=keys or []))


_LEDGER: Final = """
[[claims]]
key = "rebuild"
text = "the cache takes hours"
figure = 4.3
unit = "h"
date = 2026-08-24
source = { kind = "derived", by = "a comment" }
status = "superseded"
superseded_by = "rebuild"

[[claims]]
key = "rebuild"
text = "the cache takes minutes"
figure = 145.5
unit = "s"
date = 2026-08-26
source = { kind = "measured", by = "a run" }
status = "measured"
"""


def _drill(check: str, walk: Callable[[ProjectGround], None], *adapters: str) -> ProjectDrill:
    return ProjectDrill(name=walk.__name__, check=check, adapters=frozenset(adapters), walk=walk)


PROJECT_DRILLS: Final = (
    _drill("working_tree_committed", changed_file, "git"),
    _drill("working_tree_committed", untracked_import, "git", "files"),
    _drill("test_suite_green", failing_test, "python", "git", "suite_results"),
    _drill("cache_key_covers_change", key_of_a_path, "python"),
    _drill("kwargs_by_name", misspelt_argument, "python"),
    _drill("config_validated_early", number_out_of_range, "files"),
    _drill("config_validated_early", unknown_word, "python", "files"),
    _drill("log_rotates", log_left_in_place, "rotation"),
    _drill("instrument_has_positive_control", wrong_metric, "python"),
    _drill("stale_numbers", superseded_figure, "git", "figure_files"),
    _drill("name_not_running", name_taken, "run_records", "process_table"),
    _drill("serving_path", refused_serving, "bounded_process"),
    _drill("watchdog_tested_negative", silent_watchdog, "drill_record"),
    _drill("present_and_null", absent_key, "manifest_files", "git"),
    _drill("observed_consequence_present", unseen_setting, "manifest_files", "git"),
    _drill("provenance_records_resolved", unresolved_backend, "manifest_files", "git"),
)
"""Every drill; each in a project of its own."""
