"""Is the manifest that a real launch left judged as it is, and only for its own commit?"""

import os
import shutil
import subprocess
import sys

import pytest
from pfid_plugins.preflight.observed_consequence_present import judge, observe

from pfid.adapters.manifest_files import MANIFEST, read_manifest
from pfid.bootstrap.launch import user_records
from pfid.bootstrap.preflight.manifest import manifest_facts
from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world

SMOKE = '[smoke]\nrun = "smoke"\n'
STEP = """
import os, sys
sys.path.insert(0, os.environ["PFID_CHECKOUT"])
from pfid.trainer import configured, observe
if os.fork() == 0:
    observe("template.sha256", "a")
    observe("resolved.attn_implementation", "sdpa")
    os._exit(0)
os.wait()
configured("template.sha256", "a")
configured("attn_implementation", "sdpa")
for step in range(2):
    print(f"{step + 1}/2 [00:0{step + 1}<00:00,  1.00s/it]", flush=True)
"""


@pytest.fixture
def launched(repository):
    """One smoke run at a commit."""
    repository.write("train.py", STEP)
    repository.write(".gitignore", "__pycache__\n*.log\n")
    repository.commit()
    launch(repository)
    return repository


def launch(repository, *command, name="smoke", options=()):
    from pathlib import Path

    checkout = str(Path(__file__).parents[3])
    environ = {**repository.environ, "PFID_CHECKOUT": checkout}
    subprocess.run(
        [
            sys.executable,
            *("-m", "pfid", "run", "--name", name, *options, "--"),
            *(command or (sys.executable, "train.py")),
        ],
        cwd=repository.folder,
        env={**environ, "PYTHONPATH": os.environ.get("PYTHONPATH", checkout)},
        check=False,
        capture_output=True,
        timeout=60,
    )


def manifest_of(repository):
    records = user_records(repository.environ)
    ((record,), _) = records.latest("smoke")
    return records.run_dir(record.run_id) / MANIFEST


@pytest.mark.full
def test_the_manifest_of_a_real_smoke_run_is_judged(launched):
    found = manifest_facts(launched.project(SMOKE))
    assert (found.problem, found.same_commit, found.ended_well) == ("", True, True)
    assert found.absent == found.unsampled == found.otherwise == found.unresolved == ()
    assert found.contradicted == ()
    assert found.paired >= 1
    by_path = launched.project(f'[smoke]\nmanifest = "{manifest_of(launched)}"\n')
    assert manifest_facts(by_path) == found
    launched.write("later.py", "")
    launched.commit()
    assert not manifest_facts(launched.project(SMOKE)).same_commit


@pytest.mark.full
def test_a_smoke_run_of_another_environment_than_the_specs_shows_nothing_of_it(launched):
    assert manifest_facts(launched.project(SMOKE)).same_environment
    site = launched.folder / ".site"
    info = site / "later_library-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: later-library\nVersion: 1.2\n")
    python = launched.folder / ".python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    found = manifest_facts(launched.project(SMOKE, python=str(python)))
    assert not found.same_environment
    assert found.detail == "later-library none, now 1.2"
    python.write_text("#!/bin/sh\nexit 3\n")
    found = manifest_facts(launched.project(SMOKE, python=str(python)))
    assert found.problem == "python_unanswered"
    assert str(python) in found.detail
    assert manifest_facts(launched.project(SMOKE, python="")).same_environment


@pytest.mark.full
def test_a_manifest_of_which_everything_is_null_resolves_nothing(repository):
    repository.commit()
    launch(repository, sys.executable, "-c", "pass")
    found = manifest_facts(repository.project(SMOKE))
    assert (found.problem, found.ended_well, found.unsampled) == ("", True, ())
    assert (found.unresolved, found.resolved) == (("attn_implementation",), 0)
    both = SMOKE + 'resolves = ["attn_implementation", "attn_implementation.vision"]\n'
    assert len(manifest_facts(repository.project(both)).unresolved) == 2
    none = manifest_facts(repository.project(SMOKE + "resolves = []\n"))
    assert (none.unresolved, none.resolved) == ((), 0)


SPEAKS = """
[cache_key]
function = "train.core:key_of_content"
files = { mask = "data/mask.json" }
[[kwargs]]
target = "train.core:Arguments"
file = "train.toml"
[config]
ranges = [{ file = "more/ranges.toml", key = "lr", min = 0 }]
choices = [{ file = "more/choices.toml", key = "kind", among = ["a"] }]
"""


@pytest.mark.full
def test_a_file_that_the_spec_speaks_of_is_recorded_by_its_content(repository):
    for name in ("train.toml", "more/ranges.toml", "more/choices.toml"):
        repository.write(name, "lr = 1\n")
    declared = '[provenance]\nconfig = ["train.toml"]\ndatasets = ["more"]\n'
    repository.write("preflight.toml", declared)
    repository.commit()
    launch(repository, sys.executable, "-c", "pass")
    spec = f"{SMOKE}resolves = []\n{SPEAKS}"
    (lacking,) = manifest_facts(repository.project(spec)).unsampled
    assert lacking.startswith("data/mask.json: ")
    elsewhere = repository.project(spec.replace("data/mask.json", "train.toml"))
    assert manifest_facts(elsewhere).unsampled == ()


@pytest.mark.full
def test_what_was_left_out_edited_or_unknown_is_seen(launched):
    file = manifest_of(launched)
    assert not read_manifest(file).changed
    spec = SMOKE + 'keys = ["host.driver", "fields.mask.sha256", "mask.sha256", "of.our.own"]\n'
    assert manifest_facts(launched.project(spec)).absent == ("of.our.own",)
    text = file.read_text()
    file.write_text(text.replace('"schema"', '"scheme"', 1))
    found = manifest_facts(launched.project(SMOKE))
    assert found.edited
    assert found.absent == ("schema",)


WRONG = """
import os, sys
sys.path.insert(0, os.environ["PFID_CHECKOUT"])
from pfid.trainer import configured, observe
configured("seed", 7)
observe("seed", 7)
configured("max_seq_len", 128)
configured("mask.sha256", "m")
configured("attn_implementation", "flex_attention")
observe("resolved.attn_implementation", "sdpa")
configured("experts_implementation", "grouped_mm")
if os.fork() == 0:
    observe("tokens.loss_delta", 0)
    os._exit(0)
os.wait()
"""


@pytest.mark.full
def test_every_way_to_write_down_an_intention_is_told_apart(launched):
    launched.write("train.py", WRONG)
    launched.write("preflight.toml", '[provenance]\nauxiliary = ["gone.json"]\n')
    launched.commit()
    launched.write("train.py", WRONG + "pass\n")
    launch(launched)
    launched.write("train.py", WRONG)
    found = manifest_facts(launched.project(SMOKE))
    assert found.ended_well
    assert not found.same_commit  # the commit is the same, the tree was not
    assert [one.partition(":")[0] for one in found.own] == ["seed"]
    assert "max_seq_len" in {one.partition(":")[0] for one in found.unobserved}
    assert {one.partition(":")[0] for one in found.contradicted} >= {"mask.sha256"}
    assert found.otherwise == ("attn_implementation: flex_attention was requested, sdpa it is",)
    assert found.unresolved == ("experts_implementation",)
    assert any(one.startswith("auxiliary ") and "missing" in one for one in found.unsampled)
    assert found.steps == 0


TOWERS = """
import os, sys
sys.path.insert(0, os.environ["PFID_CHECKOUT"])
from pfid.trainer import configured, observe
configured("attn_implementation", "flex_attention")
observe("resolved.attn_implementation", "flex_attention")
observe("resolved.attn_implementation.text_config", "flex_attention")
observe("resolved.attn_implementation.vision_config", "eager")
"""


@pytest.mark.full
def test_a_tower_is_held_against_what_was_requested_of_the_model(launched):
    launched.write("train.py", TOWERS)
    launched.commit()
    launch(launched)
    found = manifest_facts(launched.project(SMOKE))
    assert found.otherwise == (
        "attn_implementation.vision_config: flex_attention was requested, eager it is",
    )


INSIDE = """
import os, sys
sys.path.insert(0, os.environ["PFID_CHECKOUT"])
from pfid.trainer import StepReporter, configured, observe
configured("attn_implementation", "sdpa")
observe("resolved.attn_implementation", "sdpa")
reporter = StepReporter(synchronised=%s)
for step in range(%d):
    with reporter.step():
        pass
"""
HOOKED = """
import torch
weight = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
(weight.sum() - 1).backward()
optimizer.step()
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "options", "steps"),
    [
        pytest.param(INSIDE % (True, 1), (), 1, id="one step"),
        pytest.param(INSIDE % (False, 10), (), 10, id="ten launches that nobody waited for"),
        pytest.param(HOOKED, ("--instrument",), 1, id="one step of torch", marks=pytest.mark.torch),
    ],
)
def test_a_smoke_run_of_few_steps_is_enough(repository, program, options, steps):
    repository.write("train.py", program)
    repository.write(".gitignore", "__pycache__\n*.log\n")
    repository.commit()
    launch(repository, options=options)
    found = manifest_facts(repository.project(SMOKE))
    assert (found.problem, found.steps, found.unobserved) == ("", steps, ())
    verdict = judge(observe(project_world(manifest=found)), NoLimits())
    assert verdict.reason == "observed"


@pytest.mark.full
def test_a_smoke_run_that_dies_shows_nothing(repository):
    repository.commit()
    launch(repository, sys.executable, "-c", "raise SystemExit(3)")
    assert not manifest_facts(repository.project(SMOKE)).ended_well


def test_no_manifest_and_one_that_is_none_are_named(repository):
    assert manifest_facts(repository.project()) is None
    assert manifest_facts(repository.project(SMOKE)).problem == "no_manifest"
    repository.write("m.json", "{")
    spec = '[smoke]\nmanifest = "m.json"\n'
    assert manifest_facts(repository.project(spec)).problem == "manifest_unreadable"
    shutil.rmtree(repository.folder / "data")
    assert (
        manifest_facts(repository.project('[smoke]\nmanifest = "data/m"\n')).problem
        == "no_manifest"
    )
