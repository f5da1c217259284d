"""Is the seat of an inspect-ai log what both arms share, and never the model?"""

import pytest

from pfid.formats.results.inspect_log import instrument_of


def seat(**arguments):
    header = {"eval": {"model": "hf/local", "model_args": arguments}}
    return instrument_of(header).seat


@pytest.mark.parametrize(
    "key",
    [
        *("model_path", "tokenizer", "tokenizer_path"),
        *("adapter_path", "peft_model", "peft_model_path"),
    ],
)
def test_which_checkpoint_it_is_is_no_part_of_the_seat(key):
    assert seat(**{key: "./tuned"}) == seat(**{key: "./stock"}) == seat() == "hf"


def test_how_a_checkpoint_is_served_is_part_of_the_seat():
    tuned = seat(model_path="./tuned", dtype="bfloat16")
    assert tuned == seat(model_path="./stock", dtype="bfloat16")
    assert tuned != seat(model_path="./stock", dtype="float32")
