"""Is a template told by what the tokenizer of this process carries, and by what it renders?"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pfid.trainer import template
from pfid.trainer.template import (
    configured_template,
    observe_template,
    rendered_sha256,
    template_sha256,
)

ROOT = Path(__file__).parents[3]


class Tokenizer:
    """Renders its turns one after the other, with its template before each."""

    def __init__(self, chat_template=None, renders=None):
        self.chat_template = chat_template
        self.renders = chat_template if renders is None else renders

    def apply_chat_template(self, turns, *, tokenize):
        assert not tokenize
        if self.renders is None:
            raise ValueError("no template")
        return "".join(f"{self.renders}{turn['role']}{turn['content']}" for turn in turns)


@pytest.fixture
def lines(tmp_path, monkeypatch):
    monkeypatch.setenv("PFID_RUN_DIR", str(tmp_path))

    def read():
        text = (tmp_path / "observations.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    return read


def test_the_template_is_that_which_the_tokenizer_carries_now(lines):
    tokenizer = Tokenizer("{{ ü }}")
    assert observe_template(tokenizer)
    carried, rendered = lines()
    expected = hashlib.sha256("{{ ü }}".encode()).hexdigest()
    assert carried["value"] == expected == template_sha256(tokenizer)
    assert (carried["key"], carried["kind"]) == ("template.sha256", "observed")
    assert (rendered["key"], rendered["pid"]) == ("template.rendered_sha256", os.getpid())
    assert rendered["value"] == rendered_sha256(tokenizer)
    tokenizer.chat_template = "{{ other }}"
    assert template_sha256(tokenizer) != expected
    assert template_sha256(Tokenizer()) is None


def test_who_assigns_a_template_says_both_digests_of_it(lines):
    assert configured_template(Tokenizer("a"))
    assert [line["kind"] for line in lines()] == ["configured"] * 2
    assert [line["value"] for line in lines()] == [
        template_sha256(Tokenizer("a")),
        rendered_sha256(Tokenizer("a")),
    ]


def test_a_tokenizer_that_renders_otherwise_in_spite_of_the_same_text_is_another():
    assert rendered_sha256(Tokenizer("a")) != rendered_sha256(Tokenizer("a", renders="b"))
    assert rendered_sha256(Tokenizer("a")) == rendered_sha256(Tokenizer("a", renders="a"))


def test_several_named_templates_are_one_digest_whatever_their_order():
    one = template_sha256(Tokenizer({"a": "1", "b": "2"}))
    assert one == template_sha256(Tokenizer({"b": "2", "a": "1"}))
    assert one != template_sha256(Tokenizer({"a": "1", "b": "3"}))


@pytest.mark.parametrize(
    "tokenizer",
    [
        Tokenizer(),
        Tokenizer("Today is {{ strftime_now('%d') }}"),
        object(),
    ],
    ids=["none", "clock", "no tokenizer"],
)
def test_what_renders_nothing_or_something_else_tomorrow_has_no_digest_of_it(tokenizer):
    assert rendered_sha256(tokenizer) is None


def test_the_conversation_is_not_the_tokenizers_to_change():
    class Changes(Tokenizer):
        def apply_chat_template(self, turns, *, tokenize):
            turns[0]["content"] = ""
            return super().apply_chat_template(turns, tokenize=tokenize)

    before = [dict(turn) for turn in template.CONVERSATION]
    rendered_sha256(Changes("a"))
    assert [dict(turn) for turn in template.CONVERSATION] == before


def test_nothing_raises_into_a_training(lines, monkeypatch):
    class Odd:
        def __getattr__(self, name):
            raise RuntimeError(name)

    assert observe_template(Odd()) is False
    assert configured_template(Odd()) is False
    monkeypatch.delenv("PFID_RUN_DIR")
    assert observe_template(Tokenizer("a")) is False


REAL = """
import multiprocessing, sys
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from pfid.trainer import configured_template, observe_template

TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"

class Wrapped(PreTrainedTokenizerFast):
    def apply_chat_template(self, *given, **named):
        return super().apply_chat_template(*given, **named) + sys.argv[2]

def worker(tokenizer):
    observe_template(tokenizer)

if __name__ == "__main__":
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0})))
    tokenizer.chat_template = TEMPLATE
    configured_template(tokenizer)
    other = Wrapped(tokenizer_object=Tokenizer(models.WordLevel({"a": 0})))
    other.chat_template = sys.argv[1] or TEMPLATE
    process = multiprocessing.get_context("fork").Process(target=worker, args=(other,))
    process.start()
    process.join()
"""


@pytest.mark.full
@pytest.mark.torch
@pytest.mark.parametrize(
    ("text", "after", "carried", "rendered"),
    [("", "", True, True), ("{{ 1 }}", "", False, False), ("", "more", True, False)],
    ids=["arrived", "another template", "renders more"],
)
def test_what_a_real_tokenizer_in_a_worker_renders_is_told(
    tmp_path, lines, text, after, carried, rendered
):
    environ = {**os.environ, "PFID_RUN_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    program = tmp_path / "encode.py"
    program.write_text(REAL)
    subprocess.run([sys.executable, str(program), text, after], env=environ, check=True)
    said = {(line["key"], line["kind"]): line["value"] for line in lines()}
    assert None not in said.values()
    for key, same in (("template.sha256", carried), ("template.rendered_sha256", rendered)):
        assert (said[key, "configured"] == said[key, "observed"]) is same
