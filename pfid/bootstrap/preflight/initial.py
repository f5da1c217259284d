"""The spec that ``pfid preflight --init`` writes: commented, with what it found in the project."""

import os
import shutil
from pathlib import Path
from typing import Final

from pfid.config.preflight.spec import FILE_NAME, loads_spec
from pfid.domain.errors import ConfigError
from pfid.formats.toml_text import quoted

INTERPRETERS: Final = (".venv/bin/python", "venv/bin/python", "env/bin/python")
ANY: Final = "python3"
"""Whatever PATH has, where no environment lies beside the project."""


def write_initial(spec: Path | None, python: str | None) -> tuple[Path, list[str]]:
    """Write a spec where there is none.

    Returns:
        Its path, and what was found of the project, a sentence each.

    Raises:
        ConfigError: if a file is there already, or none can be written.
    """
    path = Path(os.path.abspath(spec or FILE_NAME))  # noqa: PTH100 - links stay as they are
    text, said = initial_spec(path.parent, python)
    loads_spec(text)  # what we write can be read
    try:
        with path.open("x") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigError((f"{path}: is there already; nothing was written",)) from error
    except OSError as error:
        raise ConfigError((f"{path}: cannot be written: {error.strerror}",)) from error
    return path, said


def initial_spec(folder: Path, python: str | None = None) -> tuple[str, list[str]]:
    """Return the text for a project, and what was found of it."""
    found, told = _interpreter(folder, python)
    tests = any((folder / place).exists() for place in ("tests", "test", "pytest.ini", "tox.ini"))
    ledger = (folder / "claims.toml").exists()
    said = [
        told,
        "tests: found" if tests else "tests: none found",
        "claims.toml: found" if ledger else "claims.toml: none found",
    ]
    text = _TEMPLATE.format(
        name=quoted(folder.name or "run"),
        python=f"python = {quoted(found)}" if found else '# python = "PATH/TO/bin/python"',
        tests="" if tests else "# ",
        claims="" if ledger else "# ",
    )
    return text, said


def _interpreter(folder: Path, named: str | None) -> tuple[str, str]:
    """What to write, "" for nothing, and what to say of it."""
    if named:
        return named, f"training interpreter: {named}"
    beside = next((p for p in INTERPRETERS if (folder / p).exists()), None)
    if beside is not None:
        return beside, f"training interpreter: {beside}"
    if (path := shutil.which(ANY)) is not None:
        return ANY, f"training interpreter: {ANY}, which is {path}; name another if that is not it"
    return "", "training interpreter: none found, and none written; name it"


_TEMPLATE: Final = """\
# What pfid preflight checks before a launch. Paths are relative to this file's folder.
# A section that is left out is not checked, and shown as n/a.
# `pfid checks explain NAME` says of each check what it fails on, what it cannot see, what to do.

# Name of the run that will be launched (name_not_running).
name = {name}
# The interpreter that trains; everything about libraries is asked there.
{python}
# What will be launched (working_tree_committed: its script must be of the commit).
# command = ["python", "train.py", "--config", "train.toml"]
# Checks that may be unknown without keeping the launch from being ready.
optional = []

# test_suite_green: run once for each commit, in the training interpreter.
{tests}[tests]
{tests}runner = "pytest"          # or "unittest"
{tests}args = []
{tests}deadline_s = 300

# cache_key_covers_change: your own key function is driven; each file is changed in several places,
# each constant argument gets another value.
# [cache_key]
# function = "train.core:encode_cache_key"
# kwargs = {{ max_seq_len = 16384, encode_version = 3, num_workers = 8 }}
# must_change = {{ encode_version = 4 }}   # where a value made up will not do
# may_stay = ["num_workers"]              # arguments that mean nothing
# files = {{ impersonation_mask = "data/mask.json", tokenizer = "models/base-tokenizer" }}
# given_as = "path"          # or "sha256", "text", "bytes"

# kwargs_by_name: held against the signature that is installed.
# [[kwargs]]
# target = "transformers:TrainingArguments"
# file = "train.toml"
# table = "trainer"

# config_validated_early
# [config]
# paths = ["data/train.jsonl"]
# ranges = [{{ file = "train.toml", key = "trainer.learning_rate", min = 1e-6, max = 1e-3 }}]
# choices = [
#   {{ file = "train.toml", key = "trainer.lr_scheduler_type", of = "transformers:SchedulerType" }},
# ]
# [checkpoints]
# folder = "out"
# size_gb = 50
# keep = 3

# provenance_records_resolved, observed_consequence_present, present_and_null: judged on the
# manifest of a one-step smoke run at this commit:
#   pfid run --name smoke --instrument -- python train.py --max_steps 1
# [smoke]
# run = "smoke"
# resolves = ["attn_implementation"]   # what the library settled on; [] if it chooses nothing

# What a run's provenance.json holds beside the rest (`pfid provenance show RUN`).
# [provenance]
# config = ["train.toml"]
# datasets = ["data/"]
# auxiliary = ["data/mask.json", "chat.jinja"]
# artefacts = ["out/adapter_model.safetensors"]
# [provenance.requested]
# attn_implementation = "flex_attention"

# log_rotates
[log]
path = "run.log"

# instrument_has_positive_control: inputs whose answers are known, one of them not zero.
# [[metrics]]
# function = "evals.memorisation:overlap"
# controls = [
#   {{ args = ["the same text", "the same text"], expect = 1.0 }},
#   {{ args = ["the same text", "something else"], expect = 0.0 }},
#   {{ args = ["", "something else"], expect = 0.0 }},
# ]

# stale_numbers: superseded figures of the ledger, looked for in the whole repository.
{claims}[claims]
{claims}file = "claims.toml"

# attention_mask_structure
# [attention_mask]
# model = "models/base"
# attention = "flex_attention"

# serving_path: the base whose proof counts (pfid viability prove-serving), or a command that ends
# with 0 if what will be trained can be served as it will be.
# [serving]
# model = "models/base"
# command = ["python", "serve.py", "--enable-lora", "--only-start"]

# gpu_free
# [gpus]
# count = 1

# `pfid preflight mutate`: deliberate breaks and the test that must notice each.
# [[mutations]]
# name = "the mask is not merged"
# file = "train/masks.py"
# old = "mask | other"
# new = "other"
# test = "tests/test_masks.py"
"""
