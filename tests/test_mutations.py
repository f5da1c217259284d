"""Is every gate broken on purpose by `pfid preflight mutate`, with a break that can be made?"""

from pathlib import Path

import pytest

from pfid.config.preflight.spec import load_spec
from pfid.spec.check import Stage

ROOT = Path(__file__).parents[1]
STAGES = (Stage.WATCH, Stage.PREFLIGHT, Stage.VIABILITY, Stage.RESULT)
MUTATIONS = load_spec(ROOT / "preflight.toml").mutations


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_the_break_can_be_made_and_its_test_exists(mutation):
    text = (ROOT / mutation.file).read_text()
    assert text.count(mutation.old) == 1
    compile(text.replace(mutation.old, mutation.new), mutation.file, "exec")
    file, _, test = mutation.test.partition("::")
    assert not test or f"def {test}(" in (ROOT / file).read_text()
    assert (ROOT / file).is_file()


def test_every_gate_is_broken_on_purpose():
    checks = {
        f"plugins/{stage.value}/{file.name}"
        for stage in STAGES
        for file in (ROOT / "plugins" / stage.value).glob("[!_]*.py")
    }
    broken = {m.file for m in MUTATIONS}
    assert sorted(checks - broken) == [], "add a [[mutations]] to preflight.toml"


def test_a_gate_is_held_by_the_test_of_its_own_name():
    for mutation in MUTATIONS:
        if mutation.file.startswith("plugins/"):
            stem = Path(mutation.file).stem
            assert Path(mutation.test.partition("::")[0]).name == f"test_{stem}.py"
