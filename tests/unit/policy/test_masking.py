import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.policy.masking import MASK, mask_argv, mask_shown, mask_text, mask_value, names_a_secret

TOKEN = "hf_" + "a1B2" * 9


@pytest.mark.parametrize(
    "name",
    [
        "--hf-token", "HF_TOKEN", "hub_token", "hub.token", "token", "--password", "dbPassword",
        "WANDB_API_KEY", "apiKey", "AWS_SECRET_ACCESS_KEY", "--auth-header", "ssh_key",
        "client_secret", "GITHUB_PAT", "access-token", "credentials", "HF_TOKEN_2", "--wandb-key",
        "PGPASSWORD", "MYSQL_ROOT_PASSWORD", "dbpasswd", "API_TOKEN_PROD", "TOKEN_PROD",
        "hf_token_read_2", "apiTokenStaging", "TOKEN_V2", "PASSWORD_FILE_OLD",
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
        "eos_token_2", "2", "token_type", "eos_token_test", "token_id", "token_count_prod", "prod",
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
        (["sh", "-c", "HF_TOKEN=abc python x"], ["sh", "-c", f"HF_TOKEN={MASK} python x"]),
        (["docker", "-e", "HF_TOKEN=a,b"], ["docker", "-e", f"HF_TOKEN={MASK}"]),
        (["--env=HF_TOKEN=abc"], [f"--env=HF_TOKEN={MASK}"]),
        (['--c={"api_key": "a", "n": 1}'], [f'--c={{"api_key": "{MASK}", "n": 1}}']),
        (["-H", "X-Api-Key: a b"], ["-H", f"X-Api-Key: {MASK}"]),
        (["curl", "-u", "me:abc"], ["curl", "-u", f"me:{MASK}"]),
        (["python", "-u", "train.py"], ["python", "-u", "train.py"]),
        (["/bin/wandb", "login", "abc"], ["/bin/wandb", "login", MASK]),
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


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("export A=1; HF_TOKEN='a b' python x", f"export A=1; HF_TOKEN={MASK} python x"),
        ('HF_TOKEN="a \\" b" x', f"HF_TOKEN={MASK} x"),
        ('HF_TOKEN="unclosed', f"HF_TOKEN={MASK}"),
        ("env PGPASSWORD=a TOKEN_PROD=b x", f"env PGPASSWORD={MASK} TOKEN_PROD={MASK} x"),
        ("X_API_KEY=a&& y", f"X_API_KEY={MASK}&& y"),
        ("python --hf-token abc -x", f"python --hf-token {MASK} -x"),
        ("x -y --password abc --lr 3", f"x -y --password {MASK} --lr 3"),
        ("--token --verbose", "--token --verbose"),
        ("-H 'Authorization: token abc' y", f"-H 'Authorization: token {MASK}' y"),
        ("https://a/ -H authorization: abc", f"https://a/ -H authorization: {MASK}"),
        ("Cookie: a=b; c=d\nnext", f"Cookie: {MASK}\nnext"),
        ("https://u:p@ss@host/x", f"https://{MASK}@host/x"),
        ("https://" + "a1" * 20 + "@host/x", f"https://{MASK}@host/x"),
        ("https://x/?key=abc&n=1", f"https://x/?key={MASK}&n=1"),
        ("https://x/?access_token=abc#f", f"https://x/?access_token={MASK}"),
        ("a?X-Amz-Signature=abc&X-Amz-Date=1", f"a?X-Amz-Signature={MASK}&X-Amz-Date=1"),
        ("{'a': {'token': 'b'}}", f"{{'a': {{'token': '{MASK}'}}}}"),
        ('{\\"api_key\\": \\"b\\"}', f'{{\\"api_key\\": \\"{MASK}\\"}}'),
        ('{"token": null, "pad_token": "x"}', '{"token": null, "pad_token": "x"}'),
        ("hub={token:abc,n:1}", f"hub={{token:{MASK},n:1}}"),
        ("the special token: <s>", "the special token: <s>"),
        ("curl --user me:abc x", f"curl --user me:{MASK} x"),
        ("wandb login --relogin abc; x", f"wandb login --relogin {MASK}; x"),
        ("a == b, keys=3, monkey=4 --key 5", "a == b, keys=3, monkey=4 --key 5"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END", f"-----BEGIN {MASK}"),
    ],
)
def test_a_secret_is_known_by_the_name_before_it_wherever_it_stands(text, masked):
    assert mask_text(text) == masked


@pytest.mark.parametrize("part", ["a=", "token=", '"', "\\", "'a':", "{,", "--token ", "-u a:"])
def test_a_hostile_text_is_read_in_time_that_grows_with_it(part):
    assert mask_text(part * 20_000 + "token") is not None


@given(st.lists(st.text()))
def test_no_argument_is_lost_and_nothing_raises(argv):
    masked, n = mask_argv(argv)
    assert len(masked) == len(argv)
    assert 0 <= n <= len(argv)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("refused hf_a1B2a1…", f"refused {MASK}"),
        ("refused sk-…", f"refused {MASK}"),
        ("https://me:pa…", f"https://{MASK}"),
        (f"{TOKEN} was refused…", f"{MASK} was refused…"),
        ("the step counter goes on…", "the step counter goes on…"),
        (f"refused {TOKEN}", f"refused {MASK}"),
    ],
)
def test_a_secret_that_was_cut_off_is_masked_too(text, shown):
    assert mask_shown(text) == shown
