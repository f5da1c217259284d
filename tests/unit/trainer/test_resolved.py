import json
import os

import pytest

from pfid.trainer.resolved import (
    adapter_norms,
    implementations,
    observe_adapter,
    observe_model,
)


class Config:
    def __init__(self, attention=None, experts=None, **inner):
        self._attn_implementation = attention
        self._experts_implementation = experts
        self.__dict__.update(inner)


class Holder:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class Parameter:
    def __init__(self, norm):
        self._norm = norm

    def detach(self):
        return self

    float = detach

    def norm(self):
        return self._norm


@pytest.fixture
def lines(tmp_path, monkeypatch):
    monkeypatch.setenv("PFID_RUN_DIR", str(tmp_path))

    def read():
        text = (tmp_path / "observations.jsonl").read_text()
        return {line["key"]: line for line in map(json.loads, text.splitlines())}

    return read


def test_every_configuration_below_is_told_by_its_place():
    config = Config("flex", None, text_config=Config("flex", "grouped_mm", deep=Config("eager")),
                    vision_config=Config("sdpa"), vocab_size=8)  # fmt: skip
    assert implementations(config) == {
        "attn_implementation": "flex",
        "experts_implementation": None,
        "attn_implementation.text_config": "flex",
        "experts_implementation.text_config": "grouped_mm",
        "attn_implementation.text_config.deep": "eager",
        "attn_implementation.vision_config": "sdpa",
    }


def test_configurations_in_a_ring_end():
    ring = Config("a")
    ring.inner = ring
    assert len(implementations(ring)) == 2 + 4


def test_a_model_is_written_down_as_resolved(lines):
    assert observe_model(Holder(config=Config("sdpa")))
    assert lines()["resolved.attn_implementation"]["value"] == "sdpa"
    assert lines()["resolved.experts_implementation"]["value"] is None
    assert lines()["resolved.attn_implementation"]["pid"] == os.getpid()


def test_norms_of_an_adapter_are_of_lora_b_alone(lines):
    named = [("q.lora_A", Parameter(9.0)), ("q.lora_B", Parameter(0.0)), ("v.lora_B", Parameter(2))]
    model = Holder(named_parameters=lambda: named)
    assert adapter_norms(model) == {"n": 2, "zero": 1, "not_finite": 0, "min": 0.0, "max": 2.0}
    assert observe_adapter(model)
    assert lines()["adapter.norm"]["value"]["max"] == 2.0
    assert adapter_norms(Holder(named_parameters=list))["n"] == 0


@pytest.mark.parametrize("norms", [(1.0, "nan", 3.0), ("nan", 1.0, 3.0), (1.0, 3.0, "-inf")])
def test_a_norm_that_is_no_number_is_counted_wherever_it_stands(norms):
    named = [(f"{place}.lora_B", Parameter(float(norm))) for place, norm in enumerate(norms)]
    found = adapter_norms(Holder(named_parameters=lambda: named))
    assert found == {"n": 3, "zero": 0, "not_finite": 1, "min": 1.0, "max": 3.0}


def test_nothing_raises_into_a_training(lines, monkeypatch):
    class Odd:
        def __getattr__(self, name):
            raise RuntimeError(name)

    assert observe_model(Odd()) is False
    assert observe_adapter(Odd()) is False
    monkeypatch.delenv("PFID_RUN_DIR")
    assert observe_model(Holder(config=Config("sdpa"))) is False
