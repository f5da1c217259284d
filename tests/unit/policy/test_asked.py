import pytest

from pfid.policy.asked import asked_of

REQUESTED = {
    "attn_implementation": "flex_attention",
    "attn_implementation.text_config": "sdpa",
    "attn_implementation.vision_config": None,
    "adapter": "lora",
}


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("attn_implementation", "flex_attention"),
        ("attn_implementation.vision_config", "flex_attention"),
        ("attn_implementation.vision_config.deep", "flex_attention"),
        ("attn_implementation.text_config", "sdpa"),
        ("attn_implementation.text_config.deep", "sdpa"),
        ("experts_implementation.text_config", None),
        ("adapter.rank", None),
    ],
)
def test_what_lies_below_takes_the_nearest_request_above_it(name, asked):
    assert asked_of(name, REQUESTED) == asked
