"""A run is called after the script it runs."""

import pytest

from pfid.policy.run_name import default_name


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        ("python train.py --lr 1", "train"),
        ("python3.11 -u /w/src/train.py", "train"),
        ("python -m pkg.train --config a.py", "train"),
        ("python -m pkg.train.__main__", "train"),
        ("python -c pass", "python"),
        ("python -c pass x.py", "python"),
        ("python train.py -m debug", "train"),
        ("torchrun --nproc-per-node 4 train.py --m x", "train"),
        ("torchrun --nproc_per_node=4 -m pkg.finetune", "finetune"),
        ("torchrun --nproc_per_node=4 --module pkg.finetune", "finetune"),
        ("python -m torch.distributed.run --nproc-per-node=2 sft.py", "sft"),
        ("python -m torch.distributed.launch -m pkg.sft", "sft"),
        ("accelerate launch --config_file c.yaml dpo.py", "dpo"),
        ("bash scripts/run.sh", "run"),
        ("./train.sh", "train"),
        ("/usr/bin/true", "true"),
        ("true", "true"),
        ("uv run train.py", "train"),
        ("llamafactory-cli train a.yaml", "llamafactory-cli"),
        ("my.tool x.py", "my.tool"),
        ("/", "run"),
    ],
)
def test_the_name_is_the_stem_of_what_is_run(argv, name):
    assert default_name(argv.split()) == name


def test_a_shells_inline_command_is_named_after_what_it_runs():
    assert default_name(["bash", "-c", "python train.py --lr 1"]) == "train"
    assert default_name(["bash", "-c", ""]) == "bash"
    assert default_name(["bash", "-c"]) == "bash"


def test_a_name_is_printable_and_bounded():
    assert default_name(["\x1b[31m" + "x" * 500]) == "[31m" + "x" * 196
    assert default_name([]) == "run"
