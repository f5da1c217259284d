"""What a batch tells of a step, without waiting for a device."""

from types import SimpleNamespace

import pytest

from pfid.trainer.callbacks.accelerate import AccelerateSteps
from pfid.trainer.callbacks.batch import added, loss_of, measured
from pfid.trainer.callbacks.lightning import _Steps
from pfid.trainer.callbacks.transformers import TransformersSteps


class Tensor:
    """Rows of numbers on a device; reading one that lies elsewhere is an error here."""

    def __init__(self, *rows, device="cpu"):
        self.rows, self.device = rows, SimpleNamespace(type=device)
        self.shape = (len(rows), len(rows[0])) if rows and isinstance(rows[0], list) else ()

    def _read(self):
        assert self.device.type == "cpu", "this would wait for the device"

    def __ne__(self, other):
        self._read()
        return Tensor(*[[int(n != other) for n in row] for row in self.rows])

    __hash__ = None

    def sum(self):
        return sum(map(sum, self.rows))

    def numel(self):
        return len(self.rows)

    def __float__(self):
        self._read()
        return float(self.rows[0])


IDS = Tensor([1, 2, 3, 0], [1, 0, 0, 0])
MASK = Tensor([1, 1, 1, 0], [1, 0, 0, 0])


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ({"input_ids": IDS}, {"tokens": 8, "width": 4}),
        (
            {"input_ids": IDS, "attention_mask": MASK},
            {"tokens": 8, "width": 4, "real_tokens": 4},
        ),
        (SimpleNamespace(input_ids=IDS), {"tokens": 8, "width": 4}),
        ({"input_ids": IDS, "attention_mask": Tensor([1])}, {"tokens": 8, "width": 4}),
        ({"pixels": IDS}, {}),
        (IDS, {}),
        (None, {}),
        ({"input_ids": [1, 2]}, {}),
    ],
)
def test_shapes_tell_tokens_and_width(batch, said):
    assert measured(batch) == said


def test_nothing_that_lies_on_a_device_is_read():
    away = Tensor([1, 1], device="cuda")
    assert measured({"input_ids": away, "attention_mask": away}) == {"tokens": 2, "width": 2}
    assert loss_of(Tensor(2.0, device="cuda")) is None
    assert loss_of({"loss": Tensor(2.0)}) == loss_of(Tensor(2.0)) == 2.0
    assert loss_of(None) is loss_of({}) is loss_of(Tensor(1.0, 2.0)) is None


def test_tokens_of_micro_batches_add_up_and_the_widest_counts():
    one = added({}, {"tokens": 8, "width": 4, "real_tokens": 3})
    assert added(one, {"tokens": 4, "width": 2}) == {"tokens": 12, "width": 4, "real_tokens": 3}


class Reporter:
    """Keeps what is reported."""

    def __init__(self):
        self.told, self.steps_done = [], 0

    def report(self, **said):
        self.told.append(said)

    def begin(self):
        pass

    def waits_for_device(self, *, waits):
        pass

    def enter(self, phase):
        self.told.append(phase)

    def leave(self):
        self.told.append("left")

    def paused(self, phase):
        self.told.append(f"paused {phase}")

    def give_up(self, error):
        self.told.append(error)


def test_lightning_reports_the_micro_batches_of_a_step_together():
    reporter, trainer = Reporter(), SimpleNamespace(global_step=0)
    steps = _Steps(reporter)
    steps.on_train_start(trainer, None)
    for index in range(2):
        steps.on_train_batch_start(trainer, None, {"input_ids": IDS}, index)
        trainer.global_step = index
        steps.on_train_batch_end(trainer, None, Tensor(0.5), {"input_ids": IDS}, index)
    assert reporter.told == [{"index": 1, "loss": 0.5, "tokens": 16, "width": 4}]


def test_a_measure_that_raises_ends_no_training_and_leaves_no_part_of_a_sum(capsys):
    reporter, trainer = Reporter(), SimpleNamespace(global_step=0)
    steps = _Steps(reporter, lambda batch: {"tokens": batch["x"], "index": 9, 3: 4})
    for batch in ({"x": 5}, {}, {}):
        steps.on_train_batch_end(trainer, None, None, batch, 0)
        trainer.global_step += batch == {}
    unknown = {"tokens": None, "real_tokens": None, "width": None}
    assert reporter.told == [{"index": 1, "loss": None, **unknown}]
    assert capsys.readouterr().err.count("pfid:") == 1


class Foreign:
    """An object of a framework that is another one than its callback knows."""

    def __getattr__(self, name):
        raise RuntimeError(name)


@pytest.mark.parametrize(
    ("callback", "hook", "given"),
    [
        (AccelerateSteps, "report", 0),
        *((_Steps, f"on_{name}", n) for name, n in (("train_start", 2), ("train_batch_end", 5))),
        *(
            (TransformersSteps, f"on_{name}", 3)
            for name in ("train_begin", "step_end", "epoch_end", "evaluate")
        ),
    ],
)
def test_whatever_a_framework_hands_over_ends_the_reports_and_no_training(callback, hook, given):
    steps = callback(Foreign(), Reporter()) if callback is AccelerateSteps else callback(Reporter())
    getattr(steps, hook)(*(Foreign() for _ in range(given)))
    getattr(steps, hook)(*(Foreign() for _ in range(given)))
    assert RuntimeError in {type(told) for told in steps.reporter.told}


def test_every_hook_of_every_callback_is_guarded():
    hooks = [
        (kind, name)
        for kind in (_Steps, TransformersSteps, AccelerateSteps)
        for name in vars(kind)
        if name.startswith("on_") or name == "report"
    ]
    assert len(hooks) >= 15
    assert not [h for h in hooks if not hasattr(getattr(*h), "__wrapped__")]


NO_COUNTS = [None, "8", 1.5, Tensor([1, 2], device="cuda"), -3]


@pytest.mark.parametrize("tokens", NO_COUNTS, ids=["none", "text", "fraction", "tensor", "below 0"])
def test_what_is_no_count_is_not_told_and_no_part_of_a_step_is_told_for_it(tokens):
    accelerator = SimpleNamespace(sync_gradients=False, optimizer_step_was_skipped=False)
    steps = AccelerateSteps(accelerator, Reporter())
    steps.report(tokens=tokens, real_tokens=5)
    accelerator.sync_gradients = True
    steps.report(tokens=8, real_tokens=6)
    steps.report(tokens=4)
    assert steps.reporter.told == [{"real_tokens": 11}, {"tokens": 4}]
    wide = {"width": 4, "loss": 1}
    assert added(added(wide, {"width": tokens, "loss": 2}), wide) == {"width": None, "loss": 1}


class Model:
    """Calls the hooks that are put on it."""

    def __init__(self):
        self.hooks, self.training = [], True

    def register_forward_pre_hook(self, hook, *, with_kwargs):
        assert with_kwargs
        self.hooks.append(hook)
        return SimpleNamespace(remove=lambda: self.hooks.remove(hook))

    def __call__(self, **named):
        for hook in list(self.hooks):
            assert hook(self, (), named) is None


def test_transformers_sees_what_its_model_is_called_with_and_takes_its_hook_off():
    reporter, model = Reporter(), Model()
    steps = TransformersSteps(reporter)
    arguments = SimpleNamespace(logging_nan_inf_filter=True)
    state = SimpleNamespace(global_step=0, num_input_tokens_seen=0)
    control = SimpleNamespace(should_evaluate=False, should_save=False)
    steps.on_train_begin(arguments, state, control, model=model)
    model(input_ids=IDS, attention_mask=MASK)
    model.training = False
    model(input_ids=Tensor([1] * 9))  # an evaluation is no step
    steps.on_step_end(arguments, state, control)
    steps.on_step_end(arguments, state, control)
    first = {"index": 0, "loss": None, "tokens": 8, "width": 4, "real_tokens": 4}
    assert reporter.told == [first, {"index": 0, "loss": None}]
    steps.on_train_end(arguments, state, control)
    assert model.hooks == []


def begun(model, *, compiled=False):
    steps = TransformersSteps(Reporter())
    arguments = SimpleNamespace(logging_nan_inf_filter=True, torch_compile=compiled)
    steps.on_train_begin(arguments, SimpleNamespace(global_step=0), None, model=model)
    return steps


class Trainer:
    """Calls its callback as the real one does, which hands over the model without its wrapper."""

    def __init__(self, model, wrapped):
        self.model, self.model_wrapped = model, wrapped

    def train(self):
        return begun(self.model, compiled=True)


def test_a_compiled_model_gets_no_hook_and_the_module_around_it_does():
    model, wrapped = Model(), Model()
    steps = Trainer(model, wrapped).train()
    assert (len(model.hooks), len(wrapped.hooks)) == (0, 1)
    steps.on_train_end(None, None, None)
    assert wrapped.hooks == []


def test_where_the_module_around_a_compiled_model_is_not_known_nothing_gets_a_hook():
    model = Model()
    begun(model, compiled=True)
    assert model.hooks == []


def test_one_compiled_in_place_is_asked_before_its_compiled_call_until_the_training_ends():
    calls, model = [], Model()
    compiled = model._compiled_call_impl = lambda **named: calls.append(named) or "out"
    steps = begun(model)
    assert model._compiled_call_impl(input_ids=IDS) == "out"
    assert calls == [{"input_ids": IDS}]
    assert model.hooks == []
    assert steps._said == {"tokens": 8, "width": 4}
    steps.on_train_end(None, None, None)
    assert model._compiled_call_impl is compiled


def test_a_model_that_cannot_be_asked_ends_no_training():
    class Broken:
        @property
        def _compiled_call_impl(self):
            raise RuntimeError("no")

    begun(Broken())


def test_accelerate_reports_no_step_that_its_scaler_skipped_nor_its_tokens_later():
    accelerator = SimpleNamespace(sync_gradients=False, optimizer_step_was_skipped=False)
    reporter = Reporter()
    steps = AccelerateSteps(accelerator, reporter)
    steps.report(tokens=8, real_tokens=5)
    accelerator.sync_gradients = True
    steps.report(tokens=8, real_tokens=6)
    accelerator.optimizer_step_was_skipped = True
    steps.report(tokens=100)
    accelerator.optimizer_step_was_skipped = False
    steps.report(tokens=4)
    assert reporter.told == [{"tokens": 16, "real_tokens": 11}, {"tokens": 4}]


@pytest.mark.parametrize(("done", "told"), [(0, []), (7, ["resume_skip", "left"])])
def test_what_a_resumed_transformers_run_skips_is_no_step(done, told):
    reporter = Reporter()
    steps = TransformersSteps(reporter)
    state = SimpleNamespace(global_step=done)
    steps.on_train_begin(SimpleNamespace(logging_nan_inf_filter=True), state, None)
    steps.on_step_begin(None, state, None)
    assert (reporter.told, reporter.steps_done) == (told, done)
