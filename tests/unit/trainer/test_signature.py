"""Is an argument that nobody takes named, and one that is taken left alone?"""

import functools
import inspect
import typing
from dataclasses import InitVar, dataclass, field
from typing import Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.trainer.signature import Unknown, accepts, edit_distance


@dataclass
class Arguments:
    output_dir: str = "out"
    warmup_steps: float = field(
        default=0, metadata={"help": "an integer or a float in [0, 1) (ratio of total steps)"}
    )
    eval_strategy: str = "no"
    fp16: bool = False
    seed: int = 42
    made: int = field(init=False, default=0)
    once: InitVar[int] = 0


@dataclass
class Older:
    warmup_steps: int = 0
    warmup_ratio: float = 0.0


def names(found):
    return [(u.name, u.nearest) for u in found]


def test_what_is_taken_is_taken():
    found = accepts(Arguments, {"output_dir": "x", "warmup_steps": 100, "once": 1})
    assert found.ok
    assert found.missing == ()
    found.require()


def test_a_removed_argument_is_named_with_its_successor():
    found = accepts(Arguments, {"warmup_ratio": 0.03, "evaluation_strategy": "steps", "sed": 1})
    assert names(found.unknown) == [
        ("warmup_ratio", "warmup_steps"),
        ("evaluation_strategy", "eval_strategy"),
        ("sed", "seed"),
    ]
    with pytest.raises(TypeError, match=r"does not take 'warmup_ratio' \(did you mean 'warmup_s"):
        found.require()
    assert accepts(Older, {"warmup_ratio": 0.03}).ok


def test_a_successor_that_is_not_there_is_not_proposed():
    assert names(accepts(Older, {"tokenizer": 1}).unknown) == [("tokenizer", "")]


def test_a_field_that_the_constructor_does_not_take_is_unknown():
    assert names(accepts(Arguments, {"made": 1}).unknown) == [("made", "")]


def test_a_fraction_of_warmup_steps_changes_its_meaning():
    ((name, why),) = accepts(Arguments, {"warmup_steps": 0.03}).changed
    assert name == "warmup_steps"
    assert "ratio of all steps" in why
    ((_, why),) = accepts(Older, {"warmup_steps": 0.03}).changed
    assert "no warmup at all" in why
    ((_, why),) = accepts(Arguments, {"warmup_steps": 1.0}).changed
    assert "one step" in why
    assert accepts(Arguments, {"warmup_steps": 1}).ok
    assert accepts(Arguments, {"warmup_steps": 0}).ok
    assert accepts(Arguments, {"warmup_steps": True}).changed == ()


def test_a_text_that_is_true_and_a_fraction_that_is_cut_are_said():
    assert accepts(Arguments, {"fp16": "false"}).changed[0][0] == "fp16"
    assert accepts(Arguments, {"seed": 1.5}).changed[0][0] == "seed"
    assert accepts(Arguments, {"seed": 1.0, "fp16": True}).ok


@pytest.mark.parametrize(
    "form",
    [
        "Optional[{}]",
        "typing.Union[{}, None]",
        "{} | None",
        "None | {}",
        "Union[None, Optional[{}]]",
    ],
)
@pytest.mark.parametrize("written", [True, False], ids=["as text", "as it is"])
def test_a_type_that_may_be_none_is_that_type(form, written):
    names = {"Optional": Optional, "typing": typing, "Union": Union}
    whole, truth, either = (form.format(name) for name in ("int", "bool", "Union[int, float]"))
    if not written:
        whole, truth, either = (eval(text, names) for text in (whole, truth, either))

    def takes(n, ok, x):
        raise NotImplementedError

    takes.__annotations__ = {"n": whole, "ok": truth, "x": either}
    wrong = {"n": 0.5, "ok": "false", "x": 0.5}
    assert [name for name, _ in accepts(takes, wrong).changed] == ["n", "ok"]
    assert accepts(takes, {"n": None, "ok": None, "x": None}).ok
    assert accepts(takes, {"n": 2.0, "ok": True, "x": 1}).ok


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_finite_number_is_no_whole_one(number):
    assert accepts(Arguments, {"seed": number}).changed[0][0] == "seed"


@pytest.mark.parametrize("text", ["bool | str", "Literal['false'] | None", "list[bool]", "object"])
def test_a_text_goes_where_more_than_a_truth_value_does(text):
    def takes(x):
        raise NotImplementedError

    takes.__annotations__ = {"x": text}
    assert accepts(takes, {"x": "false"}).ok


def test_kwargs_swallow_without_a_word():
    def build(*, lr, **rest):
        return lr, rest

    found = accepts(build, {"lr": 1, "lrr": 2})
    assert found.unknown == ()
    assert names(found.unseen) == [("lrr", "lr")]
    assert not found.ok
    with pytest.raises(TypeError, match="swallows 'lrr'"):
        found.require()


def test_kwargs_that_go_up_to_a_superclass_are_followed():
    class Base:
        def __init__(self, depth, width=1):
            self.size = depth, width

    class Child(Base):
        def __init__(self, own=0, **rest):
            super().__init__(**rest)
            self.own = own

    found = accepts(Child, {"own": 1, "depth": 2, "widht": 3})
    assert names(found.unknown) == [("widht", "width")]
    assert accepts(Child, {"own": 1}).missing == ("depth",)


def test_a_wrapper_that_passes_on_is_followed_and_a_strict_one_is_not():
    def inner(*, depth):
        return depth

    @functools.wraps(inner)
    def passes(**rest):
        return inner(**rest)

    @functools.wraps(inner)
    def strict(own):
        return inner(depth=own)

    assert accepts(passes, {"depth": 1}).ok
    assert names(accepts(passes, {"deepth": 1}).unknown) == [("deepth", "depth")]
    assert accepts(strict, {"own": 1}).ok
    assert names(accepts(strict, {"depth": 1}).unknown) == [("depth", "")]


def test_a_decorator_that_renames_keeps_the_old_name_alive():
    def renamed(old_name, new_name):
        def wrap(function):
            @functools.wraps(function)
            def wrapped(*args, **kwargs):
                if old_name in kwargs:
                    kwargs[new_name] = kwargs.pop(old_name)
                return function(*args, **kwargs)

            return wrapped

        return wrap

    class Trainer:
        @renamed("tokenizer", new_name="processing_class")
        def __init__(self, processing_class=None):
            self.processing_class = processing_class

    found = accepts(Trainer, {"tokenizer": 1})
    assert found.unknown == ()
    assert found.deprecated == (("tokenizer", "processing_class"),)


def test_positional_only_is_not_taken_by_name():
    def f(a, /, b):
        return a, b

    assert names(accepts(f, {"a": 1, "b": 2}).unknown) == [("a", "b")]


def test_methods_partials_and_callables_are_read_as_they_are_called():
    class Thing:
        def method(self, depth):
            return depth

        def __call__(self, width):
            return width

        @classmethod
        def make(cls, height):
            return height

    assert accepts(Thing().method, {"depth": 1}).ok
    assert not accepts(Thing().method, {"self": 1}).ok
    assert accepts(Thing(), {"width": 1}).ok
    assert accepts(Thing.make, {"height": 1}).ok
    assert accepts(functools.partial(Thing().method, depth=3), {"depth": 1}).ok
    assert accepts(functools.partial(Arguments, seed=1), {"seed": 2}).ok


class Counted(type):
    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Named(type):
    def __call__(cls, name):
        return super().__call__(name=name)


class Made(metaclass=Counted):
    def __init__(self, lr, momentum=0.0):
        self.lr, self.momentum = lr, momentum


class MadeByName(metaclass=Named):
    def __init__(self, **kwargs):
        self.kwargs = kwargs


class Below(Made):
    def __init__(self, decay=0.0, **kwargs):
        super().__init__(**kwargs)
        self.decay = decay


class Described:
    """As pydantic describes what it made."""

    __signature__ = inspect.signature(Made.__init__).replace(
        parameters=[inspect.Parameter("lr", inspect.Parameter.KEYWORD_ONLY)]
    )

    def __init__(self, /, **data):
        self.data = data


@pytest.mark.parametrize(
    ("target", "taken", "required"),
    [
        (Made, ("lr", "momentum"), ("lr",)),
        (MadeByName, ("name",), ("name",)),
        (Below, ("decay", "lr", "momentum"), ("lr",)),
        (functools.partial(Below, lr=1), ("decay", "lr", "momentum"), ()),
        (functools.partial(Made, 1), ("momentum",), ()),
        (Described, ("lr",), ("lr",)),
    ],
    ids=["metaclass", "its own names", "subclass", "partial", "by position", "described"],
)
def test_what_makes_an_instance_otherwise_is_read_as_it_makes_it(target, taken, required):
    found = accepts(target, {})
    assert (found.known, found.missing) == (taken, required)
    found = accepts(target, {"lrr": 1})
    assert [u.name for u in found.unknown] == ["lrr"]
    assert found.unseen == ()


def test_models_of_pydantic_are_read_by_their_fields():
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Model", lr=(float, ...), seed=(int, 0))
    data = pydantic.dataclasses.dataclass(Older)
    assert accepts(model, {"lr": 1.0}).ok
    assert names(accepts(model, {"lr": 1.0, "sed": 1}).unknown) == [("sed", "seed")]
    assert accepts(data, {"warmup_ratio": 0.1}).ok
    assert names(accepts(data, {"warmup_ration": 0.1}).unknown) == [
        ("warmup_ration", "warmup_ratio")
    ]


def test_a_class_without_a_constructor_takes_nothing():
    class Bare:
        pass

    class Made:
        def __new__(cls, depth):
            made = super().__new__(cls)
            made.depth = depth
            return made

    assert names(accepts(Bare, {"depth": 1}).unknown) == [("depth", "")]
    assert accepts(Made, {"depth": 1}).ok


def test_a_signature_that_cannot_be_read_is_no_acceptance():
    found = accepts(max, {"x": 1})
    assert found.why
    assert not found.ok
    assert accepts("no callable", {"x": 1}).why


def test_an_unknown_is_a_plain_value():
    assert Unknown("a", "b") == Unknown("a", "b")


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_edit_distance_is_a_distance(a, b, c):
    assert edit_distance(a, a) == 0
    assert edit_distance(a, b) == edit_distance(b, a)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))


@pytest.mark.full
@pytest.mark.torch
def test_the_installed_training_arguments_and_trainer_are_read():
    transformers = pytest.importorskip("transformers")
    found = accepts(
        transformers.TrainingArguments,
        {"output_dir": "x", "warmup_ratio": 0.03, "group_by_length": True, "warmup_steps": 0.03},
    )
    assert names(found.unknown) == [
        ("warmup_ratio", "warmup_steps"),
        ("group_by_length", "train_sampling_strategy"),
    ]
    assert [name for name, _ in found.changed] == ["warmup_steps"]
    assert names(accepts(transformers.Trainer, {"tokenizer": 1}).unknown) == [
        ("tokenizer", "processing_class")
    ]
