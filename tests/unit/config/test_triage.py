"""The spec of a triage: the README's own is good, and what is wrong is named by its key."""

import re
from pathlib import Path

import pytest

from pfid.config.triage import load_triage, loads_triage
from pfid.domain.errors import ConfigError

README = Path(__file__).parents[3] / "README.md"


def test_the_readmes_own_spec_is_good_and_names_every_table():
    section = README.read_text().partition("## Where the step time goes")[2].partition("\n## ")[0]
    spec = loads_triage(re.search(r"```toml\n(.*?)```", section, re.DOTALL)[1])
    tables = (spec.model, spec.step, spec.trace, spec.lengths, spec.claims)
    assert None not in tables
    assert spec.title


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[step]\nfactory = 'x'\nwidths = [1, 2, 3]\n", "step.factory"),
        ("[step]\nfactory = 'a:b'\nwidths = [1, 2]\n", "step.widths"),
        ("[step]\nfactory = 'a:b'\nwidths = [1, 2, 0]\n", "step.widths"),
        ("[step]\nfactory = 'a:b'\nwidths = [1, 2, 3]\ndevice = 'tpu'\n", "step.device"),
        ("[lengths]\nfile = 'x'\nbatch = 0\n", "lengths.batch"),
        ("[model]\nconfig = ''\n", "model.config"),
        ("[modle]\nconfig = 'x'\n", "did you mean 'model'"),
        ("title = 5\n", "title"),
    ],
)
def test_a_key_that_cannot_be_is_named(text, key):
    with pytest.raises(ConfigError, match=re.escape(key)):
        loads_triage(text)


def test_a_spec_of_nothing_is_refused():
    with pytest.raises(ConfigError, match="names nothing to look at"):
        loads_triage("[claims]\nfile = 'claims.toml'\n")


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"#" * (1024 * 1024 + 1)])
def test_a_file_that_is_none_is_named(tmp_path, content):
    path = tmp_path / "spec.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(str(path))):
        load_triage(path)
