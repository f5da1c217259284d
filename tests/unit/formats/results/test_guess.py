"""Records that nobody has described are read by the names people give them."""

from pfid.formats.results.guess import guessed


def test_a_chat_log_of_two_arms():
    records = [
        {
            "prompt_id": f"q{i}",
            "model": "tuned" if i % 2 else "base",
            "category": "rp" if i < 10 else "story",
            "seed": i % 3,
            "response": "words",
            "usage": {"completion_tokens": 3},
            "finish_reason": "stop",
            "metrics": {"acc": 1.0, "len": 4},
            "latency_ms": 3.2,
            "judge": 0.5,
        }
        for i in range(20)
    ]
    guess = guessed(records)
    assert guess.fields["item"] == "prompt_id"
    assert guess.fields["output"] == "response"
    assert guess.fields["arm"] == "model"
    assert guess.fields["family"] == "category"
    assert guess.fields["output_tokens"] == "usage.completion_tokens"
    assert guess.scores == {"judge": "judge", "acc": "metrics.acc"}
    assert guess.arms == {"base": 10, "tuned": 10}
    assert guess.seeds == 3


def test_one_model_is_no_arm_and_what_half_of_them_hold_is_no_field():
    records = [
        {"id": i, "output": "x", "model": "m", **({"seed": 1} if i % 2 else {})} for i in range(8)
    ]
    guess = guessed(records)
    assert "arm" not in guess.fields
    assert "seed" not in guess.fields


def test_nothing_known_is_nothing_guessed():
    assert dict(guessed([{"a": 1}]).fields) == {}
