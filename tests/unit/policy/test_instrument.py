"""Which commands an interpreter can be seen in, told from their words alone."""

import subprocess
import sys

import pytest

from pfid.policy.instrument import blind, instrumented


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("python -I train.py", "isolated"),
        ("/usr/bin/python3.11 -uE train.py", "-E"),
        ("python3 -S -m train", "site"),
        ("python -W ignore -I train.py", "isolated"),
        ("nice -n 5 python -Wignore -BE train.py", "-E"),
        ("env -i PATH=/bin python train.py", "env -i"),
        ("env -u PYTHONPATH python train.py", "takes PYTHONPATH"),
        ("env PYTHONPATH=src python train.py", "another PYTHONPATH"),
        ("sudo -E python train.py", "sudo"),
        ("docker run image python train.py", "container"),
        ("apptainer exec --cleanenv image.sif python train.py", "clean"),
        ("srun --export=NONE python train.py", "srun"),
        ("torchrun --nproc_per_node 2 --no-python python -I train.py", "isolated"),
    ],
)
def test_an_interpreter_that_cannot_see_is_told(line, word):
    assert word in (blind(line.split()) or "")


@pytest.mark.parametrize(
    "line",
    [
        "python train.py -I -E -S",
        "python -m train -I",
        "python -u -W ignore::UserWarning train.py",
        "python -X importtime train.py -I",
        "python -c print(1) -E",
        "torchrun --nproc_per_node 2 train.py",
        "env A=1 -u B python train.py -i",
        "accelerate launch train.py --export=NONE",
        "srun --export=ALL,A=1 python train.py",
        "apptainer exec image.sif python train.py",
        "./train.sh -I",
        "true",
    ],
)
def test_one_that_sees_is_left_in_peace(line):
    assert blind(line.split()) is None


@pytest.mark.parametrize("flags", ["-I", "-E", "-S", "-u", "-OO", "-Wignore", "-sB", "-X dev -E"])
def test_python_itself_agrees_on_what_its_options_do(tmp_path, flags):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.stdout.write('seen')")
    argv = [sys.executable, *flags.split(), "-c", "pass"]
    environ = {"PYTHONPATH": str(tmp_path)}
    said = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True).stdout
    assert (blind(argv) is None) == (said == "seen")


def test_the_folder_stands_first_and_once():
    once = instrumented({"PYTHONPATH": "/a::/b", "X": "1"}, "/site")
    assert once == {"PYTHONPATH": "/site:/a::/b", "X": "1"}
    assert instrumented(once, "/site") == once
    assert instrumented({}, "/site") == {"PYTHONPATH": "/site"}
