"""Which words of an answer are the model's own, and which are somebody's whom it lets speak."""

import pytest

from pfid.formats.answers.own_words import own_words


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("He said 'I won't do it,' and left.", "He said and left."),
        ("He said \u2018I won\u2019t do it,\u2019 and left.", "He said and left."),
        ("I can't help with 'explicit' content.", "I can't help with 'explicit' content."),
        ("It's the dogs' house, isn't it?", "It's the dogs' house, isn't it?"),
        ("'Tis late, and I can't help.", "'Tis late, and I can't help."),
        ("*I won't,* she thought.", "she thought."),
        ("I *cannot* help.", "I *cannot* help."),
        ("*I won't.*", "*I won't.*"),
        ("'I won't.'", "'I won't.'"),
        ("'I won't.' 'You must.' said Ann to him.", "said Ann to him."),
        ("snake_case_names and 2 * 3 * 4 stay", "snake_case_names and 2 * 3 * 4 stay"),
    ],
)
def test_what_others_say_is_blanked_and_nothing_else(text, own):
    assert " ".join(own_words(text).split()) == own
    assert len(own_words(text)) == len(text)
