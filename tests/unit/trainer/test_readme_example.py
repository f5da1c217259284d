"""Can what the README shows of `pfid.trainer` be copied?"""

import dataclasses
import re
from types import SimpleNamespace

import pytest


@dataclasses.dataclass
class TrainingArguments:
    """Stands in for the installed one."""

    learning_rate: float = 0.0
    warmup_steps: float = 0


def example(checkout):
    section = (checkout / "README.md").read_text().partition("## Before the launch")[2]
    (code,) = re.findall(r"```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    return code


def test_the_example_runs(checkout, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/mask.json").write_text("[]")
    monkeypatch.chdir(tmp_path)
    known = {
        "TrainingArguments": TrainingArguments,
        "tokenizer": SimpleNamespace(chat_template="{{ messages }}"),
    }
    exec(compile(example(checkout), "README.md", "exec"), known)
    assert re.fullmatch(r"[0-9a-f]{64}", known["key"])
    assert known["kwargs"]["warmup_steps"] == 40
    with pytest.raises(TypeError, match="warmup_ratio"):
        known["accepts"](TrainingArguments, {"warmup_ratio": 0.03}).require()
