"""A configuration is taken whole or refused whole, and a refusal names every bad key."""

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.config.load import ConfigFile, load, loads
from pfid.config.model import JSONL_KEYS, Config, as_data
from pfid.config.toml_file import MAX_BYTES
from pfid.domain.errors import ConfigError
from pfid.formats.dialects.json_lines import FIELDS


def problems(text):
    with pytest.raises(ConfigError) as caught:
        loads(text)
    return caught.value.problems


def test_an_empty_file_means_every_default():
    assert loads("") == Config()


def test_no_file_means_every_default():
    assert load(None) == Config()


def test_values_reach_the_model():
    config = loads(
        """
        [page]
        listen = ["127.0.0.1:0", "[::1]:19866"]
        exported_runs_max = 600
        [checks.step_time_regime]
        limits.fail_ratio = 4
        [checks.recompile_limit]
        enabled = false
        [dialects.jsonl.mine]
        step = "it"
        """
    )
    assert config.page.listen == ["127.0.0.1:0", "[::1]:19866"]
    assert config.page.exported_runs_max == 600
    assert config.limits == {"step_time_regime": {"fail_ratio": 4.0}}
    assert config.disabled_checks == {"recompile_limit"}
    assert config.dialects.jsonl == {"mine": {"step": "it"}}


def test_every_bad_key_is_reported_at_once_with_its_path():
    found = problems(
        """
        oops = 1
        [page]
        listn = []
        listen = ["127.0.0.1:1", 2]
        exported_runs_max = 0
        ended_run_linger_s = "soon"
        [checks.a]
        enabled = 3
        limits = {x = "a", y = 1, z = "b"}
        [checks]
        b = 3
        """
    )
    places = [problem.partition(":")[0] for problem in found]
    assert sorted(places) == [
        "checks.a.enabled",
        "checks.a.limits.x",
        "checks.a.limits.z",
        "checks.b",
        "oops",
        "page.ended_run_linger_s",
        "page.exported_runs_max",
        "page.listen[1]",
        "page.listn",
    ]


def test_an_unknown_key_is_refused_with_its_nearest_match():
    assert problems("[page]\nlistn = []") == ("page.listn: unknown key; did you mean 'listen'?",)


def test_an_unknown_key_near_nothing_names_what_is_known():
    (problem,) = problems("[quotas]\nzzz = 1")
    assert "runs_per_user" in problem


def test_a_table_where_a_value_stands_is_said():
    assert problems("page = 3") == ("page: is a table, write [page]; got int 3",)


@pytest.mark.parametrize(
    "listen",
    ["localhost:9000", "127.0.0.1", "127.0.0.1:70000", "::1:90", "[127.0.0.1]:90", "1.2.3.4:-1"],
)
def test_an_address_that_is_none_is_refused_at_its_index(listen):
    (problem,) = problems(f'page.listen = ["127.0.0.1:0", "{listen}"]')
    assert problem.startswith("page.listen[1]: ")


def test_the_same_address_twice_is_refused():
    (problem,) = problems('page.listen = ["127.0.0.1:5", "127.0.0.1:5"]')
    assert "twice" in problem


@pytest.mark.parametrize("key", ["daemon.socket", "daemon.state_directory"])
def test_a_relative_path_is_refused(key):
    (problem,) = problems(f'{key} = "state"')
    assert problem.startswith(f"{key}: ")


def test_a_relative_plugin_directory_is_refused_at_its_index():
    (problem,) = problems('plugins.directories = ["/etc/pfid/checks", "checks"]')
    assert problem.startswith("plugins.directories[1]: ")


def test_a_socket_path_that_linux_cannot_bind_is_refused():
    (problem,) = problems(f'daemon.socket = "/{"x" * 107}"')
    assert "107" in problem


def test_a_limit_that_is_no_number_is_refused():
    (problem,) = problems("checks.a.limits.x = nan")
    assert problem.startswith("checks.a.limits.x: ")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("(?P<step>[0-9]+", "missing"), ("step [0-9]+", "step"), (r"(?P<step>\\d+)\\1", "escape")],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(pattern, said):
    (problem,) = problems(f'dialects.regex.mine = "{pattern}"')
    assert problem.startswith("dialects.regex.mine: ")
    assert said in problem


def test_a_pattern_that_can_be_used_is_taken():
    assert loads(r"dialects.regex.mine = 'it (?P<step>\d+)'").dialects.regex


def test_the_meanings_of_json_keys_are_those_that_the_dialect_knows():
    assert set(JSONL_KEYS) == FIELDS


def test_a_jsonl_dialect_without_a_step_is_refused():
    (problem,) = problems('dialects.jsonl.mine.loss = "l"')
    assert "step" in problem


def test_a_jsonl_dialect_with_an_unknown_meaning_is_refused():
    (problem,) = problems('dialects.jsonl.mine = {step = "s", colour = "c"}')
    assert problem.startswith("dialects.jsonl.mine.colour: ")


def test_a_file_that_is_not_toml_says_where(tmp_path):
    path = tmp_path / "pfid.toml"
    path.write_text("[page\n")
    with pytest.raises(ConfigError, match="line 1"):
        load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"gone\.toml: cannot be read"):
        load(tmp_path / "gone.toml")


def test_every_problem_of_a_file_names_the_file(tmp_path):
    path = tmp_path / "pfid.toml"
    path.write_text("a = 1\nb = 2\n")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert [p.startswith(f"{path}: ") for p in caught.value.problems] == [True, True]


def test_a_file_of_bytes_is_refused(tmp_path):
    path = tmp_path / "pfid.toml"
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(path)


def test_a_file_far_too_large_is_refused(tmp_path):
    path = tmp_path / "pfid.toml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="no configuration"):
        load(path)


def test_a_file_that_appears_in_its_fixed_place_is_read_from_then_on(tmp_path):
    file = ConfigFile(path=tmp_path / "pfid.toml")
    assert file.load() == Config()
    file.path.write_text("page.exported_runs_max = 7")
    assert file.load().page.exported_runs_max == 7
    assert ConfigFile().load() == Config()


def test_a_file_that_somebody_named_must_be_there(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        ConfigFile(path=tmp_path / "pfid.toml", required=True).load()


TLS = {"cert_file": "/c.pem", "key_file": "/k.pem"}
VERIFIES = {"client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": "/ca.pem"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (TLS, None),
        (TLS | VERIFIES | {"client_allowed_sans": ["a"], "min_version": "TLS13"}, None),
        ({"cert_file": "/c.pem"}, "cert_file and key_file go together"),
        ({"key_file": "/k.pem"}, "cert_file and key_file go together"),
        (TLS | {"cert_file": "c.pem"}, "cert_file: 'c.pem' is not an absolute path"),
        (TLS | {"client_ca_file": "/ca.pem"}, "client_ca_file goes with"),
        (TLS | {"client_auth_type": "VerifyClientCertIfGiven"}, "client_ca_file goes with"),
        (VERIFIES, "only TLS asks clients"),
        (TLS | {"client_allowed_sans": ["a"]}, "client_allowed_sans: needs"),
        (TLS | {"client_auth_type": "RequireAnyClientCert"}, "client_auth_type: invalid enum"),
        (TLS | {"min_version": "TLS10"}, "min_version: invalid enum"),
        (TLS | {"client_ca": "/ca.pem"}, "client_ca: unknown key"),
    ],
)
def test_what_is_said_of_tls_belongs_together(keys, said):
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    text = "\n".join(["[tls_server_config]", *lines])
    if said is None:
        assert loads(text).tls_server_config.cert_file == "/c.pem"
        return
    with pytest.raises(ConfigError, match=re.escape(said)):
        loads(text)


def test_the_defaults_hold_their_own_rules():
    assert loads("") == msgspec.convert(as_data(Config()), Config)


KEYS = st.sampled_from(["page", "checks", "quotas", "limits", "listen", "enabled", "x", "a.b"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_whatever_stands_in_the_file_the_answer_is_a_config_or_a_refusal(data):
    from pfid.config.tables import build_table

    found = []
    config = build_table(Config, data, "", found)
    assert isinstance(config, Config)
    assert all(isinstance(problem, str) and ": " in problem for problem in found)


def test_problems_of_every_kind_are_told_at_once():
    found = []
    text = """
        [nope]
        a = 1
        [page]
        listen = ["x"]
        exported_runs_max = 0
        """
    with pytest.raises(ConfigError) as caught:
        loads(text, lambda config: (found.append(config), ("checks.zzz: no such check",))[1])
    assert [problem.partition(": ")[0] for problem in caught.value.problems] == [
        "nope",
        "page.exported_runs_max",
        "page.listen[0]",
        "checks.zzz",
    ]
    assert found[0].page.exported_runs_max == Config().page.exported_runs_max


def test_what_follows_from_a_bad_key_only_is_not_told():
    text = """
        [tls_server_config]
        cert_file = "/cert.pem"
        key_file = 1
        """
    (problem,) = problems(text)
    assert problem.startswith("tls_server_config.key_file: ")


def test_further_rules_are_told_with_the_files_name(tmp_path):
    path = tmp_path / "pfid.toml"
    path.write_text("")
    with pytest.raises(ConfigError) as caught:
        load(path, lambda _config: ("checks.zzz: no such check",))
    assert caught.value.problems == (f"{path}: checks.zzz: no such check",)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org/a/b?c=d",
        "http://127.0.0.1:9/",
        "http://[::1]:80/x",
        "http://h?q@x",
    ],
)
def test_a_webhook_is_any_url_of_the_web(url):
    assert loads(f'notify.webhook = "{url}"').notify.webhook == url


@pytest.mark.parametrize(
    "url", ["ftp://h/", "h", "http://", "http://h:9x/", "http://[::1/", "http://a b/", "http://h:/"]
)
def test_a_webhook_that_nobody_could_be_told_by_is_refused(url):
    (problem,) = problems(f'notify.webhook = "{url}"')
    assert problem.startswith("notify.webhook: ")


@pytest.mark.parametrize("url", ["https://me:s3cret@h/", "http://s3cret@[::1]:9/", "x://s3cret@h"])
def test_a_password_in_a_webhook_is_refused_and_not_shown(url):
    (problem,) = problems(f'notify.webhook = "{url}"')
    assert "secret_file" in problem
    assert "s3cret" not in problem


MAY = "elapsed, loss, ms, seconds, stamp"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(?P<step>", "'(?P<step>': missing ): (?P<step>"),
        (
            "it [0-9]+(?P<no>x)",
            f"needs the named group step, and may have any of {MAY} beside it; found no",
        ),
    ],
)
def test_a_pattern_is_refused_in_the_words_it_was_written_in(pattern, said):
    assert problems(f"dialects.regex.mine = '{pattern}'") == (f"dialects.regex.mine: {said}",)
