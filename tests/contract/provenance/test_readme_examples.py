"""What the README shows of provenance can be used as it stands."""

import re

from pfid.config.preflight.spec import loads_spec


def section(checkout):
    text = (checkout / "README.md").read_text()
    return text.partition("## What a run says about itself")[2].partition("\n## ")[0]


def test_the_spec_can_be_read(checkout):
    (example,) = re.findall(r"```toml\n(.*?)```", section(checkout), re.DOTALL)
    spec = loads_spec(example)
    assert spec.provenance.requested == {"attn_implementation": "flex_attention"}
    assert spec.provenance.artefacts == ["out/adapter_model.safetensors"]


def test_the_calls_exist_and_do_nothing_outside_of_a_run(checkout, monkeypatch):
    monkeypatch.delenv("PFID_RUN_DIR", raising=False)
    (example,) = re.findall(r"```python\n(.*?)```", section(checkout), re.DOTALL)
    exec(example, {"model": object(), "tokenizer": object()})
