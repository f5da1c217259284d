import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.policy.masking import MASK, mask_argv, mask_text, mask_value, names_a_secret

TOKEN = "hf_" + "a1B2" * 9


@pytest.mark.parametrize(
    "name",
    [
        "--hf-token", "HF_TOKEN", "hub_token", "hub.token", "token", "--password", "dbPassword",
        "WANDB_API_KEY", "apiKey", "AWS_SECRET_ACCESS_KEY", "--auth-header", "ssh_key",
        "client_secret", "GITHUB_PAT", "access-token", "credentials",
    ],
)  # fmt: skip
def test_a_name_that_speaks_of_a_secret_is_known(name):
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "--tokenizer", "--max-tokens", "--max_new_tokens", "num_tokens", "--eos-token", "pad_token",
        "TOKENIZERS_PARALLELISM", "--key", "--keys", "primary_key", "--path", "PATH", "pattern",
        "--special-token", "--compass", "--author", "token_dim", "mask_token",
    ],
)  # fmt: skip
def test_a_name_that_speaks_of_text_is_left_alone(name):
    assert not names_a_secret(name)


@pytest.mark.parametrize(
    ("argv", "masked"),
    [
        (["--hf-token", "abc"], ["--hf-token", MASK]),
        (["--hf-token=abc"], [f"--hf-token={MASK}"]),
        (["hub.token=abc"], [f"hub.token={MASK}"]),
        (["HF_TOKEN=abc", "python"], [f"HF_TOKEN={MASK}", "python"]),
        (["-H", "Authorization: Bearer abc"], ["-H", f"Authorization: Bearer {MASK}"]),
        (["--token", "--verbose"], ["--token", "--verbose"]),
        (["--password", "-x9"], ["--password", MASK]),
        (["--eos-token", "</s>"], ["--eos-token", "</s>"]),
        (["--lr=1e-4", "train.py"], ["--lr=1e-4", "train.py"]),
        (["s3://key:word@bucket/x"], [f"s3://{MASK}@bucket/x"]),
        (["a == b", "x=y z"], ["a == b", "x=y z"]),
        (["--token="], ["--token="]),
        (["--token", "token", "x"], ["--token", MASK, "x"]),
    ],
)
def test_a_secret_is_masked_and_nothing_else(argv, masked):
    found, n = mask_argv(argv)
    assert list(found) == masked
    assert n == sum(a != b for a, b in zip(argv, masked, strict=True))


@pytest.mark.parametrize(
    "secret",
    [
        TOKEN, "sk-proj-" + "a" * 20, "ghp_" + "a" * 36, "glpat-" + "a" * 20, "AKIA" + "A" * 16,
        "xoxb-1234567890-abc", "nvapi-" + "a" * 30, "github_pat_" + "a" * 30,
        "eyJhbGciOiJI.eyJzdWIiOiIx.abc-_", "AIza" + "a" * 35,
    ],
)  # fmt: skip
def test_a_secret_is_known_by_its_shape_wherever_it_stands(secret):
    assert secret not in mask_text(f"x={secret}, y")
    assert mask_text(f"x={secret}, y").startswith("x=")


def test_plain_words_keep_their_shape():
    text = "risk-averse https://example.org/a@b sketch hf_small token=none Basic x"
    assert mask_text("risk-averse https://example.org/a sketch hf_small") == (
        "risk-averse https://example.org/a sketch hf_small"
    )
    assert "sketch" in mask_text(text)


def test_what_hides_in_a_value_is_masked_by_its_key_or_its_shape():
    value = {"api_key": "x", "inner": [{"note": f"use {TOKEN}"}], "n": 1, "token": None}
    assert mask_value(value) == {
        "api_key": MASK, "inner": [{"note": f"use {MASK}"}], "n": 1, "token": None,
    }  # fmt: skip


@given(st.lists(st.text()))
def test_no_argument_is_lost_and_nothing_raises(argv):
    masked, n = mask_argv(argv)
    assert len(masked) == len(argv)
    assert 0 <= n <= len(argv)
