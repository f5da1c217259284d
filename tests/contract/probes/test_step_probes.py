"""Probes that run somebody's own step, in a real interpreter with the real torch, on a CPU."""

import ast
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from pfid.analysis.adapter_step import Shape, shape_of
from pfid.cli.entry import main
from pfid.cli.profile_accounting import NO_MODEL
from pfid.probes import (
    device,
    lora_step,
    loss_head,
    loss_watch,
    model_size,
    profile_step,
    tiny_training,
    user_step,
)
from pfid.probes.channel import Refused

HERE = Path(__file__).parent
MODULES = (
    device,
    loss_head,
    loss_watch,
    lora_step,
    model_size,
    profile_step,
    tiny_training,
    user_step,
)
real = pytest.mark.usefixtures("own_training")


@pytest.fixture
def own_training(monkeypatch):
    """Stand where the user's training is."""
    monkeypatch.chdir(HERE)


def run(probe, *arguments):
    shared = ("--python", sys.executable, "--device", "cpu", "--json")
    done = CliRunner().invoke(main, ["probe", probe, *arguments, *shared])
    return done, json.loads(done.stdout) if done.stdout.startswith("{") else None


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_it_is_python_3_9_and_needs_nothing_but_the_standard_library_to_start(module):
    tree = ast.parse(Path(module.__file__).read_text(), feature_version=(3, 9))
    names = [n.names[0].name for n in tree.body if isinstance(n, ast.Import)]
    names += [str(n.module) for n in tree.body if isinstance(n, ast.ImportFrom) and not n.level]
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)


@pytest.mark.full
@pytest.mark.torch
class TestLossWatch:
    """In this process: importing torch once is enough."""

    @pytest.fixture(autouse=True)
    def importable(self, monkeypatch):
        monkeypatch.syspath_prepend(str(HERE))

    def spent(self, name, loss):
        torch = pytest.importorskip("torch")
        factory = user_step.Factory(f"user_training:{name}")
        with loss_watch.LossWatch(torch, f"user_training:{loss}", lambda: None) as watch:
            step = factory.step({"width": 4, "batch": 2, "device": "cpu"}, lambda: None)
            step.timed()
            return watch.told()

    @pytest.mark.parametrize(
        ("step", "loss"),
        [
            ("plain", "plain_loss"),
            ("in_class", "Losses.of_class"),
            ("of_object", "Losses.of_object"),
        ],
    )
    def test_a_plain_loss_is_found_wherever_it_lives_and_never_computed_again(self, step, loss):
        said = self.spent(step, loss)
        assert said["forward_s"] >= 0.02
        assert said["recompute_s"] == 0
        assert said["gradient_s"] > 0

    @pytest.mark.parametrize(
        ("step", "loss"),
        [
            ("chunked", "chunked_loss"),
            ("reentrant", "reentrant_loss"),
            ("whole", "plain_loss"),
        ],
    )
    def test_what_runs_again_in_the_backward_pass_is_told_apart(self, step, loss):
        said = self.spent(step, loss)
        assert said["recompute_s"] >= 0.03
        assert said["forward_s"] >= 0.02
        assert said["calls"] == (2 if step == "whole" else 1)

    @pytest.mark.parametrize(
        ("name", "calls"), [("with_head", 1), ("in_parts", 4), ("tied", 1), ("tied_leaf", 1)]
    )
    def test_gradients_of_a_weight_that_is_trained_are_those_of_this_call_and_step(
        self, name, calls
    ):
        import user_training as own

        torch = pytest.importorskip("torch")
        factory = user_step.Factory(f"user_training:{name}")
        with loss_watch.LossWatch(torch, "user_training:head_loss", lambda: None) as watch:
            step = factory.step({"width": 4, "batch": 2, "device": "cpu"}, lambda: None)
            for _ in range(3):
                watch.clear()
                seconds, _ = step.timed()
                said = watch.told()
                # the rest of the backward pass is no part of the loss, however long it takes
                parts = [said["forward_s"], said["recompute_s"], said["gradient_s"]]
                assert said["calls"] == calls
                assert said["gradient_s"] >= calls * own.LATE_S
                assert sum(parts) <= seconds - own.REST_S

    def test_a_graph_that_lives_on_is_timed_in_no_later_step(self):
        torch = pytest.importorskip("torch")
        weight = torch.ones(2, requires_grad=True)
        with loss_watch.LossWatch(torch, "user_training:plain_loss", lambda: None) as watch:
            import user_training as own

            kept = own.plain_loss(weight)
            kept.backward(retain_graph=True)
            first = watch.told()["gradient_s"]
            watch.clear()
            kept.backward(retain_graph=True)
            assert watch.gradient_s == 0
            own.plain_loss(weight)
        kept.backward()
        assert first > 0
        assert watch.gradient_s == 0

    def test_a_loss_that_calls_itself_is_timed_once(self):
        import user_training as own

        torch = pytest.importorskip("torch")
        with loss_watch.LossWatch(torch, "user_training:turned", lambda: None) as watch:
            began = time.perf_counter()
            own.turned(torch.ones(2))
            whole = time.perf_counter() - began
        assert own.FORWARD_S <= watch.told()["forward_s"] <= whole
        assert watch.calls == 1

    def test_afterwards_the_users_functions_are_their_own_again(self):
        import user_training
        from torch.utils import checkpoint

        before = (user_training.plain_loss, user_training.checkpoint, checkpoint.checkpoint)
        self.spent("plain", "plain_loss")
        assert (
            user_training.plain_loss,
            user_training.checkpoint,
            checkpoint.checkpoint,
        ) == before

    def test_a_loss_that_the_step_never_calls_is_refused(self):
        with pytest.raises(Refused) as caught:
            self.spent("alone", "plain_loss")
        assert caught.value.args[0] == "loss_not_called"

    def test_a_model_with_nothing_to_train_is_refused(self):
        factory = user_step.Factory("user_training:frozen")
        step = factory.step({"width": 4, "batch": 2, "device": "cpu"}, lambda: None)
        with pytest.raises(Refused) as caught:
            lora_step.facts(step, None)
        assert caught.value.args[0] == "nothing_trainable"


@pytest.mark.full
@pytest.mark.torch
@real
def test_the_built_in_step_shows_every_figure_of_its_loss(documented):
    done, said = run("loss-head", "--width", "64", "--repeats", "2")
    assert done.exit_code == 0, done.output
    assert set(said) - {"schema"} == documented("`pfid probe loss-head`")
    assert said["checkpointed"] is True
    assert "half the story" in said["caveat"]


@pytest.mark.full
@pytest.mark.torch
@real
class TestLoraStep:
    def test_what_is_hit_and_what_is_not_is_named(self, documented):
        done, said = run(
            "lora-step", "user_training:plain", "--targets", "user_training:targets",
            "--width", "4", "--warmup", "1",
        )  # fmt: skip
        assert said["targets"] == {"q_proj": 2}
        assert said["missed"] == ["nowhere"]
        assert said["untouched"] == said["towers"] == ["visual.q_proj"]
        assert said["trainable"] == 128
        assert said["n"] == 10
        assert said["real_tokens_per_s"] == said["tokens_per_s"]
        assert set(said) - {"schema"} == documented("`pfid probe lora-step`")
        assert done.exit_code == 1

    def test_more_modules_than_are_listed_are_all_counted(self):
        done, said = run(
            "lora-step", "user_training:deep", "--targets", "user_training:all_linear",
            "--width", "1", "--batch", "1", "--warmup", "1",
        )  # fmt: skip
        assert said["targets"] == {"q_proj": 205, "v_proj": 205}
        assert said["hit_count"] == 410
        assert (said["declared"], said["missed"]) == (["all-linear"], [])
        assert done.exit_code == 0

    def test_the_built_in_step_is_fine(self):
        done, said = run("lora-step", "--targets", "tiny", "--width", "32")
        assert done.exit_code == 0
        assert said["targets"] == {"mix": 2, "out": 2}
        assert said["shape"] == "unknown"
        assert said["missed"] == said["untouched"] == []

    @pytest.mark.parametrize(
        ("step", "said"),
        [("alone", "must return (step, model)"), ("broken", "the user's own fault")],
    )
    def test_what_cannot_be_measured_is_refused_by_name(self, step, said):
        done, _ = run("lora-step", f"user_training:{step}")
        assert said in done.output
        assert done.exit_code == 3

    def test_fewer_than_ten_repetitions_are_refused(self):
        done, _ = run("lora-step", "--repeats", "9")
        assert done.exit_code == 2


@pytest.mark.full
@pytest.mark.torch
@real
class TestProfile:
    def test_the_built_in_step_shows_all_four_parts(self, documented, tmp_path):
        trace = tmp_path / "step.json"
        done, said = run("profile", "--widths", "64,16,32", "--trace", str(trace))
        assert set(said) - {"schema"} == documented("`pfid probe profile`")
        assert [r["width"] for r in said["fit"]["residuals"]] == [16, 32, 64]
        assert said["padding"]["full_targets"] == 128
        assert said["padding"]["padded_targets"] == 96
        assert said["loss_head"]["checkpointed"] is True
        assert {note["code"] for note in said["kernels"]["notes"]} == {"cpu_only"}
        assert said["achieved_flops_per_s"] > 0
        adapters = 2 * ((64 + 192) * 4 + (64 + 64) * 4)
        base = 2 * (64 * 192 + 192 + 64 * 64 + 64) + 64 * 2_048
        by_parameters = said["accounting"]
        assert (by_parameters["parameters"], by_parameters["trained"]) == (
            base + adapters,
            adapters,
        )
        cost = 2 * 64 * (4 * base + 6 * adapters)
        assert by_parameters["flops_per_step"] == cost
        assert by_parameters["flops_per_s"] == cost / by_parameters["seconds_per_step"]
        assert json.loads(trace.read_text())["traceEvents"]
        assert done.exit_code in (0, 3)

    def test_a_cards_rows_go_through_to_the_table_each_kind_as_what_it_is(self, tmp_path):
        trace = tmp_path / "step.json"
        _, said = run("profile", "user_on_card:step", "--widths", "4,8,16", "--trace", str(trace))
        written = json.loads(trace.read_text())
        steps = [e for e in written["traceEvents"] if e.get("cat") == "user_annotation"]
        assert [e["name"] for e in steps] == ["ProfilerStep#1", "ProfilerStep#2"]
        table = said["kernels"]
        assert table["device"] == {
            "name": "NVIDIA H100 80GB HBM3",
            "capability": "9.0",
            "count": 1,
        }
        assert table["reading"]["damaged"] == table["reading"]["rejected"] == 0
        kinds = {name: (one["calls"], one["sum_us"]) for name, one in table["classes"].items()}
        assert kinds == {
            "attention": (2, 12.0),
            "gemm": (2, 6.0),
            "elementwise": (2, 2.0),
            "communication": (2, 8.0),
            "memory": (4, 2.0),
            "other": (2, 1.0),
        }
        assert table["rows"] == 14  # neither the annotation nor the synchronisation
        assert (table["sum_us"], table["union_us"]) == (31.0, 25.0)
        assert table["communication"] == {
            "union_us": 8.0,
            "beside_compute_us": 6.0,
            "exposed_us": 2.0,
        }
        assert [(one["step"], one["calls"]) for one in table["steps"]] == [(1, 7), (2, 7)]
        named = {one["class"]: one for one in table["kernels"]}
        assert (named["gemm"]["generation"], named["gemm"]["dtype"]) == ("sm80", "bf16")
        assert named["attention"]["family"] == "flash_sdpa"
        assert named["other"]["family"] is None
        assert table["wall_source"] == "given"
        assert table["closure"] == table["union_us"] / table["wall_us"]
        assert "older_generation" in {note["code"] for note in table["notes"]}

    def test_scaling_takes_a_step_that_comes_with_its_model(self):
        done, said = run("scaling", "user_training:plain", "--widths", "4,8,16")
        assert {one["width"] for one in said["timings"]} == {4, 8, 16}
        assert done.exit_code in (0, 3)

    def test_a_step_that_takes_no_padding_is_not_given_any(self):
        done, said = run("profile", "user_training:alone", "--widths", "4,8,16")
        assert said["padding"] is None
        assert said["loss_head"] is None
        assert (said["accounting"], said["accounting_unknown"]) == (None, NO_MODEL)
        assert done.exit_code in (0, 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["loss-head", "user_training:plain"], "--loss is missing"),
        (["lora-step", "no-colon"], "is not MODULE:NAME"),
        (["loss-head", "tiny", "--loss", ":x"], "is not MODULE:NAME"),
        (["profile", "--widths", "12,x"], "is not like 512,1024"),
        (["profile", "--widths", "0"], "from 1 token on"),
        (["lora-step", "--gpu", "0"], "exclude each other"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(arguments, said):
    done = CliRunner().invoke(main, ["probe", *arguments, "--device", "cpu"])
    assert said in done.output
    assert done.exit_code == 2


@pytest.mark.parametrize("probe", ["loss-head", "lora-step", "profile"])
def test_an_interpreter_that_does_not_exist_is_named(probe):
    arguments = ["probe", probe, "--device", "cpu", "--python", "/nonexistent/python"]
    done = CliRunner().invoke(main, arguments)
    assert "/nonexistent/python" in done.output
    assert done.exit_code == 3


class TestFactory:
    """Of functions that need no torch."""

    def made(self, monkeypatch, function):
        monkeypatch.setattr(user_step, "find", lambda _: function)
        return user_step.Factory("own:factory")

    @pytest.mark.parametrize("returned", [5, None, (5, "model"), (lambda: 1, 2, 3)])
    def test_what_is_no_step_is_refused(self, monkeypatch, returned):
        factory = self.made(monkeypatch, lambda **_: returned)
        with pytest.raises(Refused) as caught:
            factory.step({"width": 8}, lambda: None)
        assert caught.value.args[0] == "no_step"

    def test_a_model_comes_beside_the_step_or_on_it(self, monkeypatch):
        def step():
            """Do nothing."""

        beside = self.made(monkeypatch, lambda **_: (step, "model"))
        assert beside.step({"width": 8}, lambda: None).model == "model"
        step.model = "on it"
        on_it = self.made(monkeypatch, lambda **_: step)
        assert on_it.step({"width": 8}, lambda: None).model == "on it"

    def test_whether_it_takes_padding_is_read_off_its_signature(self, monkeypatch):
        def with_it(width, padding=0.0):
            """Make nothing."""

        def without_it(width):
            """Make nothing."""

        assert self.made(monkeypatch, with_it).takes_padding
        assert not self.made(monkeypatch, without_it).takes_padding

    @pytest.mark.parametrize(("said", "targets"), [(7, 7), (0, 0), (True, None), (None, None)])
    def test_loss_targets_are_what_a_step_says_if_it_says_a_number(self, said, targets):
        assert user_step.Step(lambda: said, None, lambda: None).timed()[1] == targets

    def test_the_clock_runs_from_idle_to_idle(self):
        order = []
        step = user_step.Step(lambda: order.append("run"), None, lambda: order.append("wait"))
        step.timed()
        assert order == ["wait", "run", "wait"]


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("model.layers.0.q_proj.lora_A.default.weight", "model.layers.0.q_proj"),
        ("model.layers.0.mlp.weight", "model.layers.0.mlp"),
        ("weight", ""),
    ],
)
def test_a_parameter_belongs_to_what_its_adapter_adapts(name, module):
    assert lora_step.owner(name) == module


@pytest.mark.parametrize(
    ("module", "tower"),
    [("model.visual.blocks.0.qkv", True), ("mtp.layers.0", True), ("model.layers.0.q_proj", False)],
)
def test_towers_that_text_does_not_train_are_known_by_name(module, tower):
    assert lora_step.is_tower(module) is tower


@pytest.mark.full
@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "keys", "layers"),
    [
        ("LlamaConfig", {}, {"full_attention": 3}),
        ("MistralConfig", {"sliding_window": 8}, {"sliding_attention": 3}),
        ("MixtralConfig", {"num_local_experts": 2}, {"full_attention": 3}),
        ("GPT2Config", {}, {"full_attention": 3}),
        ("BambaConfig", {"attn_layer_indices": [1]}, None),
        ("MambaConfig", {}, None),
    ],
)
def test_layers_are_told_whether_or_not_a_configuration_lists_their_types(name, keys, layers):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = getattr(transformers, name)(num_hidden_layers=3, **keys)
    model = torch.nn.Linear(2, 2)
    model.config = config
    found = lora_step.layer_types(model)
    assert found == layers or (layers is None and shape_of(found) is not Shape.DENSE)


@pytest.mark.parametrize(
    ("keys", "layers"),
    [
        ({}, {"full_attention": 4}),
        ({"sliding_window": 8}, {"sliding_attention": 4}),
        ({"sliding_window": 8, "use_sliding_window": False}, {"full_attention": 4}),
        ({"sliding_window": 8, "use_sliding_window": True}, {"sliding_attention": 4}),
        ({"mamba_d_state": 16}, None),
        ({"mamba_d_state": None}, {"full_attention": 4}),
        ({"layers_block_type": ["mamba", "attention"]}, {"mamba": 1, "attention": 1}),
        ({"hybrid_override_pattern": "M*M-"}, None),
        ({"num_attention_heads": 0}, None),
        ({"num_attention_heads": True}, None),
        ({"num_hidden_layers": 0}, None),
        ({"num_hidden_layers": None}, None),
    ],
)
def test_a_configuration_without_a_list_is_dense_unless_a_key_of_it_says_otherwise(keys, layers):
    class Model:
        config = SimpleNamespace(**{"num_hidden_layers": 4, "num_attention_heads": 4, **keys})

        def modules(self):
            return [self]

    Model.config.to_dict = lambda: keys
    assert lora_step.layer_types(Model()) == layers


def test_a_module_that_is_recurrent_is_not_taken_for_attention():
    class Config:
        num_hidden_layers = num_attention_heads = 4

    class GatedDeltaNet:
        pass

    class Model:
        config = Config()
        kinds = (Config,)

        def modules(self):
            return [kind() for kind in self.kinds]

    assert lora_step.layer_types(Model()) == {"full_attention": 4}
    Model.kinds = (Config, GatedDeltaNet)
    assert lora_step.layer_types(Model()) is None
