"""A run is called after the script it runs."""

import pytest

from pfid.policy.run_name import default_name, log_name, name_fault


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
        ("nohup python x.py", "x"),
        ("nohup ./train", "train"),
        ("env A=b python x.py", "x"),
        ("env -i -u HOME A=b ./x", "x"),
        ("nice -n 5 python x.py", "x"),
        ("nice -n5 ./x", "x"),
        ("nice --adjustment=5 ./x", "x"),
        ("nohup nice -n 5 env A=b python -u x.py", "x"),
        ("timeout -k 5 10m ./train --lr 1", "train"),
        ("timeout 10 python -m pkg.train", "train"),
        ("taskset -c 0-3 python x.py", "x"),
        ("numactl -N 0 --membind=0 ./x", "x"),
        ("stdbuf -oL -e 0 ./x", "x"),
        ("sudo -u bob A=b python x.py", "x"),
        ("setsid -- ./x", "x"),
        ("time -f %e python x.py", "x"),
        ("nohup torchrun --nproc-per-node 4 x.py", "x"),
        ("accelerate launch x.py", "x"),
        ("accelerate launch --num_processes 2 -m pkg.x", "x"),
        ("torchrun x.py", "x"),
        ("srun -N 2 python -u x.py", "x"),
        ("srun -N 2 bash run.sh", "run"),
        ("mpirun -np 2 env A=b python x.py", "x"),
        ("nsys profile -o out python x.py", "x"),
        ("conda run -n main python x.py", "x"),
        ("conda install x.py", "conda"),
        ("uv run --with torch python x.py", "x"),
        ("uv pip install x.py", "uv"),
        ("poetry run ./x", "x"),
        ("python -m pkg.mod", "mod"),
        ("python -um pkg.mod", "mod"),
        ("python -mpkg.mod", "mod"),
        ("python -W ignore -X dev x.py", "x"),
        ("python -Wignore::DeprecationWarning:mod x.py", "x"),
        ("python -m cProfile -o out.prof x.py", "x"),
        ("python -m profile_run.sft", "sft"),
        ("python train", "train"),
        ("python pkg/__main__.py", "pkg"),
        ("python -m", "python"),
        ("python -", "python"),
        ("python -u", "python"),
        ("python", "python"),
        ("nohup", "nohup"),
        ("env", "env"),
        ("env A=b", "env"),
        ("timeout 10", "timeout"),
        ("torchrun", "torchrun"),
        ("bash train", "train"),
        ("bash", "bash"),
    ],
)
def test_the_name_is_the_stem_of_what_is_run(argv, name):
    assert default_name(argv.split()) == name


def test_a_shells_inline_command_is_named_after_what_it_runs():
    assert default_name(["bash", "-c", "python train.py --lr 1"]) == "train"
    assert default_name(["bash", "-lc", "A=1 exec nohup python train.py > log 2>&1"]) == "train"
    assert default_name(["sh", "-c", "cd /w && . env.sh; python -m pkg.sft"]) == "sft"
    assert default_name(["sh", "-c", "cd /w"]) == "sh"
    assert default_name(["sh", "-c", "sleep 1; exit 3"]) == "sh"
    assert default_name(["sh", "-c", "python 'b/train.py"]) == "train"
    assert default_name(["bash", "-c", ""]) == "bash"
    assert default_name(["bash", "-c"]) == "bash"


def test_a_name_is_printable_and_bounded():
    assert default_name(["\x1b[31m" + "x" * 500]) == "[31m" + "x" * 196
    assert default_name([]) == "run"


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("train", "train.log"),
        ("a/b/../c", "a-b-..-c.log"),
        ("..", "run.log"),
        ("-rf", "rf.log"),
        ("a\nb\x1b[31m", "ab[31m.log"),
        ("日本語", "日本語.log"),
        ("x" * 200, "x" * 150 + ".log"),
        ("é" * 200, "é" * 75 + ".log"),
        ("a\udcff", "a.log"),
    ],
)
def test_a_log_is_called_by_what_can_be_typed_rotated_and_is_no_option(name: str, log: str) -> None:
    assert log_name(name) == log


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb", "\x1b[31m", "a\u202eb", "\udcff"])
def test_no_run_is_called_what_cannot_be_shown(name: str) -> None:
    assert name_fault(name).startswith("must ")


@pytest.mark.parametrize("name", ["a b", "日本語", "x" * 200, "a/b"])
def test_a_run_may_be_called_in_any_language(name: str) -> None:
    assert not name_fault(name)
