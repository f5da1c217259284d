"""Every mistake in a pattern file is named at once, with its place."""

import pytest

from pfid.config.refusal_patterns import loads_patterns
from pfid.domain.errors import ConfigError

GOOD = """
language = "en"
words = ["The"]
refusal = [{ pattern = "I can't", seen = "I can't." }]
controls = [{ name = "a", stance = "hard", text = "I can't." }]
"""


def test_a_file_is_read():
    file = loads_patterns(GOOD, "own.toml")
    assert (file.name, file.language, file.words) == ("own.toml", "en", {"the"})
    assert file.refusal[0].pattern == "I can't"
    assert file.controls[0].stance.value == "hard"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("=", "not TOML"),
        ('words = ["a"]', "language: is required"),
        ('language = "English"', "language: "),
        (
            'language = "en"\nrefusals = []',
            "refusals: unknown key; did you mean 'refusal'",
        ),
        ('language = "en"\nfirm = ["x"]', "firm[0]: expected `object`"),
        ('language = "en"\nfirm = [{ pattern = "x" }]', "firm[0].seen: is required"),
        (
            'language = "en"\ncontrols = [{ name = "a", stance = "soft", text = "x" }]',
            "controls[0].stance: invalid enum value 'soft'",
        ),
        ('language = "en"\nletters = ["ab"]', "letters[0]: "),
    ],
)
def test_what_is_wrong_is_named(text, problem):
    with pytest.raises(ConfigError) as caught:
        loads_patterns(text, "own.toml")
    assert any(p.startswith(problem) for p in caught.value.problems), caught.value.problems
