"""``pfid viability prove-serving`` with an engine that nobody here wrote: ``transformers serve``.

It has workers and OpenAI-compatible routes of its own, and loads a model whose weights and
tokenizer are made here.
"""

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.full, pytest.mark.torch]
TRANSFORMERS = shutil.which("transformers", path=str(Path(sys.executable).parent))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-llama")
    letters = Tokenizer(models.BPE())
    letters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    letters.train_from_iterator(["The capital of Portugal is Lisbon."], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=letters, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        vocab_size=len(tokenizer),
        bos_token_id=0,
        eos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def prove(model, port, *more):
    command = [TRANSFORMERS, "serve", model, "--host", "127.0.0.1", "--port", port, *more]
    ran = subprocess.run(
        [sys.executable, "-m", "pfid", "viability", "prove-serving", "--json", "--deadline", "300",
         "--", *map(str, command)],
        capture_output=True,
        check=False,
        text=True,
        timeout=400,
    )  # fmt: skip
    return json.loads(ran.stdout), ran


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_real_engine_is_proven_and_taken_down(model, port):
    proof, ran = prove(model, port, "--device", "cpu")
    assert (proof["end"], ran.returncode) == ("ready", 0), ran.stderr
    assert proof["serves"] == "merged"
    assert proof["served_name"] == str(model)
    assert proof["engine"]["name"] == "transformers"
    assert proof["engine"]["version"]
    assert "POST /v1/completions 200" in proof["answers"]
    assert not listens(port)
    asked = [sys.executable, "-m", "pfid", "viability", str(model), "--gpu-memory", "80GiB"]
    asked += ["--serve", "merged", "--json"]
    said = subprocess.run(asked, check=False, capture_output=True, text=True)
    found = {v["check"]: v for v in json.loads(said.stdout)["verdicts"]}["serving_path_proven"]
    assert found["reason"] == "proven"


def test_a_real_engine_that_refuses_is_told_in_its_own_words(model, port, tmp_path):
    """A class that its version does not know."""
    strange = tmp_path / "strange"
    shutil.copytree(model, strange)
    config = json.loads((strange / "config.json").read_text())
    strange_config = config | {"model_type": "nobody", "architectures": ["NobodyForCausalLM"]}
    (strange / "config.json").write_text(json.dumps(strange_config))
    proof, ran = prove(strange, port, "--device", "cpu")
    assert ran.returncode == 1
    assert proof["end"] in ("refused", "answers_errors"), proof
    assert any("nobody" in line for line in proof["error"]), proof["error"]
    assert not listens(port)
