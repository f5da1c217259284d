"""An example of every command, and the world in which it means something."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click

from pfid.bootstrap.selftest import take_stock
from pfid.cli.entry import COMMANDS
from pfid.config.model import Config
from pfid.spec.check import Stage


class FileOf(str):
    """An argument that names a file which the command reads."""

    __slots__ = ()


def leaves(command=None, path=()):
    """Every command that does something, by the words that call it."""
    if command is None:
        found = {}
        for name in sorted(COMMANDS):
            module = import_module(f"pfid.cli.{name.replace('-', '_')}")
            found |= leaves(module.command, (name,))
        return found
    if isinstance(command, click.Group):
        context = click.Context(command)
        return {
            call: leaf
            for name in command.list_commands(context)
            for call, leaf in leaves(command.get_command(context, name), (*path, name)).items()
        }
    return {path: command}


LEAVES = leaves()
ENABLED = {"steps_unreported", "records_complete", "fits_for_training"}
"""What is proven in the world's configuration; all of them take seconds."""
NO_TORCH = ("--python", "no-torch")
PLAN = ("--gpu-memory", "80GiB")
SAID = ("--text", "t", "--measured", "a clock")
FELL = ("--falls", "a", "--survives", "b")
EXAMPLES = {
    ("attach",): ("999999999",),
    ("checks", "list"): ("--config", FileOf("checks.toml")),
    ("checks", "explain"): ("steps_unreported",),
    ("claims", "add"): ("another", *SAID, "--ledger", FileOf("claims.toml")),
    ("claims", "check"): ("--ledger", FileOf("claims.toml")),
    ("claims", "init"): ("--ledger", "new.toml"),
    ("claims", "supersede"): ("speed", *FELL, "--withdrawn", "--ledger", FileOf("claims.toml")),
    ("claims", "why"): ("speed", "--ledger", FileOf("claims.toml")),
    ("config", "check"): (FileOf("pfid.toml"),),
    ("config", "show"): (FileOf("pfid.toml"),),
    ("events",): (),
    ("gpus",): (),
    ("judge",): (
        *(FileOf("results.jsonl"), "--spec", FileOf("GATES.toml")),
        *("--config", FileOf("checks.toml")),
    ),
    ("merge-check",): ("model", "model"),
    ("monitoring", "alertmanager"): (
        "--webhook",
        "http://a.example",
        "--dead-man",
        "http://b.example",
    ),
    ("monitoring", "dashboard"): (),
    ("monitoring", "rules"): (),
    ("monitoring", "scrape-config"): (),
    ("monitoring", "sd"): ("a.example:19866",),
    ("preflight", "check"): (FileOf("preflight.toml"),),
    ("preflight", "mutate"): (FileOf("preflight.toml"),),
    ("probe", "fit"): ("--points", FileOf("points.json")),
    ("probe", "gemm"): NO_TORCH,
    ("probe", "lengths"): (FileOf("lengths.jsonl"), "--batch", "2"),
    ("probe", "lora-step"): NO_TORCH,
    ("probe", "loss-head"): NO_TORCH,
    ("probe", "mask"): ("model", *NO_TORCH),
    ("probe", "profile"): NO_TORCH,
    ("probe", "scaling"): NO_TORCH,
    ("provenance", "audit"): ("over",),
    ("provenance", "note"): (
        *("over", "--wrong", "w", "--since", "s", "--evidence", "e", "--not-wrong", "n"),
        *("--artefact", FileOf("artefact.bin")),
    ),
    ("provenance", "reconstruct"): ("--source", FileOf("train.py")),
    ("provenance", "show"): ("over",),
    ("report",): ("over",),
    ("rotate",): (FileOf("old.log"),),
    ("run",): ("--log", "true.log", "--", "true"),
    ("selftest",): ("--check", "steps_unreported"),
    ("service", "install"): ("--root", "root"),
    ("service", "status"): (),
    ("service", "uninstall"): ("--root", "root"),
    ("show",): ("over",),
    ("status",): (),
    ("steps",): (FileOf("train.log"),),
    ("stop",): ("nobody",),
    ("trace", "diff"): (FileOf("trace.json"), FileOf("trace.json")),
    ("trace", "read"): (FileOf("trace.json"),),
    ("triage",): (FileOf("triage.toml"), *NO_TORCH),
    ("viability", "check"): (FileOf("model/config.json"), *PLAN),
    ("viability", "compare"): (FileOf("model/config.json"), *PLAN),
    ("viability", "prove-serving"): ("--model", "model", "--", "false"),
}
"""By the words that call a command: arguments with which it does what it is for, in the world."""
LASTING = {("daemon",), ("demo",)}
"""They run until somebody ends them, or for most of a minute; ``tests/e2e`` runs them."""
SILENT = {
    ("attach",),
    ("preflight", "mutate"),
    ("provenance", "audit"),
    ("provenance", "reconstruct"),
    ("probe", "gemm"),
    ("probe", "lora-step"),
    ("probe", "loss-head"),
    ("probe", "mask"),
    ("probe", "profile"),
    ("probe", "scaling"),
    ("stop",),
    ("claims", "add"),
    ("claims", "init"),
    ("claims", "supersede"),
    ("gpus",),
    ("run",),
    ("service", "install"),
}
"""Their examples need not print on stdout: what they ask for is not there, or they say it aside."""
NOBODYS_STATUS = {("run",)}
"""It answers with its child's status, 125 for refusals."""

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
CLAIMS = """\
[[claims]]
key = "speed"
text = "a step takes two seconds"
figure = 2.0
unit = "s"
date = 2026-08-26
source = { kind = "measured", by = "the log" }
status = "measured"
"""
KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "args": {}}


@dataclass
class World:
    """Where the examples mean something."""

    folder: Path
    kept: Path
    environ: dict

    def example(self, call):
        """The whole command line."""
        return (*call, *EXAMPLES[call])

    def restore(self):
        """Everything as it was written."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.kept, self.folder, symlinks=True)


def files():
    """Text by name."""
    answers = [
        {"id": f"q{i}", "response": f"word {i} " * 20, "finish": "stop", "acc": float(i % 2)}
        for i in range(40)
    ]
    shipped = take_stock(Config(), tuple(Stage)).checks
    others = sorted({str(one.check.name) for one in shipped} - ENABLED)
    rows = [KERNEL | {"ts": 100 * i, "dur": 60} for i in range(20)]
    device = {"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0}
    return {
        "claims.toml": CLAIMS,
        "checks.toml": "".join(f"[checks.{name}]\nenabled = false\n" for name in others),
        "pfid.toml": '[page]\nlisten = ["127.0.0.1:0"]\n',
        "results.jsonl": "".join(json.dumps(answer) + "\n" for answer in answers),
        "GATES.toml": 'name = "e"\n[records.fields]\nitem = "id"\noutput = "response"\n'
        'finish_reason = "finish"\n[records.fields.scores]\nacc = "acc"\n'
        "[arms.candidate]\ndeclared = 40\n",
        "preflight.toml": f'name = "toy"\npython = {json.dumps(sys.executable)}\n',
        "points.json": json.dumps({"timings": []}),
        "lengths.jsonl": "".join(
            json.dumps({"length": 10 + 7 * i % 90}) + "\n" for i in range(200)
        ),
        "artefact.bin": "weights",
        "train.py": "learning_rate = 2e-5\n",
        "old.log": "text of a run before\n",
        "train.log": "".join(f"iter {i}: loss 2.5, time 500.00ms\n" for i in range(40)),
        "trace.json": json.dumps({"deviceProperties": [device], "traceEvents": rows}),
        "triage.toml": '[lengths]\nfile = "lengths.jsonl"\nbatch = 2\n',
        "model/config.json": json.dumps(CONFIG),
        "no-torch": "#!/bin/sh\nexit 3\n",
        "python3": "#!/bin/sh\nexit 3\n",
    }


def write_world(root):
    """Write the files, and have a run that is over."""
    folder = root / "here"
    for name, text in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "root").mkdir()
    points = [{"width": w, "seconds": 1e-4 * w + 1e-8 * w * w} for w in (512, 1024, 2048, 4096)]
    (folder / "points.json").write_text(json.dumps(points))
    for program in ("no-torch", "python3"):
        (folder / program).chmod(0o755)
    environ = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "HOME": str(root),
        "XDG_STATE_HOME": str(root / "state"),
        "PFID_SOCKET": str(root / "no-daemon.sock"),
        "GIT_CEILING_DIRECTORIES": str(root),
        "LANG": "C.UTF-8",
    }
    environ["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    over = ("run", "--name", "over", "--log", "over.log", "--", "sh", "-c", "echo step")
    subprocess.run(
        [sys.executable, "-P", "-m", "pfid", *over],
        cwd=folder,
        env=environ,
        check=True,
        capture_output=True,
    )
    kept = root / "kept"
    shutil.copytree(folder, kept, symlinks=True)
    return World(folder=folder, kept=kept, environ=environ)
