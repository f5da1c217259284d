"""From what real processes of a run write down to what ``pfid provenance audit`` makes of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pfid.bootstrap.run_observations import heard_in
from pfid.policy.provenance_fields import at_launch, with_heard

CHECKOUT = Path(__file__).parents[3]
BEGIN = """
import os, sys
sys.path.insert(0, {checkout!r})
from types import SimpleNamespace as Holder
from pfid.trainer import configured, observe, observe_adapter, observe_model, observe_template
class Parameter:
    def __init__(self, norm): self.norm = lambda: norm
    def detach(self): return self
    float = detach
def adapter(*norms):
    named = [("%d.lora_B" % place, Parameter(norm)) for place, norm in enumerate(norms)]
    return Holder(named_parameters=lambda: named)
class Config:
    def __init__(self, attention, **inner):
        self._attn_implementation = attention
        self.__dict__.update(inner)
"""


@pytest.fixture
def audited(provenance, tmp_path):
    """Run a parent and then a worker of it, and audit what they wrote: rows by field, status."""

    def audit(parent, worker):
        code = f"{BEGIN.format(checkout=str(CHECKOUT))}\n{parent}\nif os.fork() == 0:\n"
        code += f"    assert {worker}\n    os._exit(0)\nsys.exit(os.wait()[1])"
        environ = {**os.environ, "PFID_RUN_DIR": str(tmp_path)}
        subprocess.run([sys.executable, "-c", code], env=environ, check=True, timeout=60)
        heard, bad = heard_in(tmp_path / "observations.jsonl")
        assert bad == 0
        provenance.run(fields=with_heard(at_launch({}, "", None), heard))
        said, status = provenance.json("audit", "train")
        return {row["field"]: row for row in said["rows"]}, status

    return audit


@pytest.mark.parametrize(
    ("norms", "status", "why"),
    [
        ("0.5, 2.0", 0, None),
        ("0.0, 2.0", 0, None),
        ("0.0, 0.0", 1, "every norm of the adapter is zero: nothing was trained"),
        ("", 1, "no adapter was found: there is no lora_B"),
        ("1.0, float('nan')", 1, "a norm of the adapter is not finite"),
        ("float('nan'), 1.0", 1, "a norm of the adapter is not finite"),
        ("float('nan'), float('nan')", 1, "a norm of the adapter is not finite"),
        ("1.0, float('inf')", 1, "a norm of the adapter is not finite"),
    ],
)
def test_an_adapter_that_was_not_trained_or_is_no_number_fails(audited, norms, status, why):
    rows, came = audited("configured('adapter.rank', 4)", f"observe_adapter(adapter({norms}))")
    assert (came, rows["adapter.rank"]["why"]) == (status, why)
    assert rows["adapter.rank"]["standing"] == ("contradicted" if status else "paired")


@pytest.mark.parametrize(
    ("template", "status", "standing"),
    [("None", 1, "contradicted"), ("'{{ other }}'", 1, "contradicted"), ("'mine'", 0, "paired")],
)
def test_a_worker_without_the_configured_template_fails(audited, template, status, standing):
    parent = "import hashlib; configured('template.sha256', hashlib.sha256(b'mine').hexdigest())"
    rows, came = audited(parent, f"observe_template(Holder(chat_template={template}))")
    assert (rows["template.sha256"]["standing"], came) == (standing, status)


CUT = "observe('truncation', {'longest': 7})"
NORMS = "observe_adapter(adapter(0.5))"


@pytest.mark.parametrize(
    ("parent", "worker", "field", "standing"),
    [
        (f"configured('max_seq_len', 8); {CUT}", "True", "max_seq_len", "self_observed"),
        (f"configured('max_seq_len', 8); {CUT}", CUT, "max_seq_len", "paired"),
        ("configured('max_seq_len', 8)", CUT, "max_seq_len", "paired"),
        (CUT, "configured('max_seq_len', 8)", "max_seq_len", "paired"),
        (f"configured('adapter.rank', 4); {NORMS}", "True", "adapter.rank", "self_observed"),
        ("True", f"configured('adapter.rank', 4) and {NORMS}", "adapter.rank", "self_observed"),
        (
            f"configured('adapter.rank', 4); {NORMS}",
            f"configured('adapter.rank', 4) and {NORMS}",
            "adapter.rank",
            "self_observed",
        ),
    ],
)
def test_whoever_assigned_a_value_is_no_witness_of_its_consequence(
    audited, parent, worker, field, standing
):
    rows, status = audited(parent, worker)
    assert (rows[field]["standing"], status) == (standing, 0)


def test_a_tower_that_settled_on_another_attention_than_the_model_fails(audited):
    settled = "Config('flex', text_config=Config('flex'), vision_config=Config('eager'))"
    rows, status = audited("configured('attn_implementation', 'flex')", f"observe_model({settled})")
    vision = rows["attn_implementation.vision_config"]
    assert (vision["requested"], vision["standing"], status) == ("flex", "contradicted", 1)
    assert rows["attn_implementation.text_config"]["standing"] == "intent_only"
