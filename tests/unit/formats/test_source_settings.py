import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.formats.source_settings import SourceError, settings_in_config, settings_in_python

NAMES = ("attn_implementation", "experts_implementation")
PLAYBOOK = """
ATTN_IMPLEMENTATION = "flex_attention"      # module constant

def load(path):
    return AutoModel.from_pretrained(path, attn_implementation=ATTN_IMPLEMENTATION)
"""


def found(text):
    return [(s.line, s.value, s.certain) for s in settings_in_python(text, NAMES)]


def test_the_playbooks_own_source_asks_for_flex_without_a_way_around():
    assert found(PLAYBOOK) == [(2, "flex_attention", True), (5, "flex_attention", True)]


@pytest.mark.parametrize(
    "text",
    [
        'm = load(p, attn_implementation="sdpa")',
        'kwargs = {"attn_implementation": "sdpa"}',
        'config._attn_implementation = "sdpa"',
        'kwargs["attn_implementation"] = "sdpa"',
        'attn_implementation: str = "sdpa"',
    ],
)
def test_every_way_of_giving_a_constant_is_found(text):
    assert found(text) == [(1, "sdpa", True)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("if flash:\n    load(attn_implementation='sdpa')", "below a condition"),
        ("try:\n    load(attn_implementation='sdpa')\nexcept E: pass", "below a condition"),
        ("load(attn_implementation='sdpa' if a else 'eager')", "no constant"),
        ("load(attn_implementation=args.attn)", "no constant"),
        ("def load(attn_implementation='sdpa'): pass", "a caller may replace"),
        ("def load(*, attn_implementation='sdpa'): pass", "a caller may replace"),
        ("p.add_argument('--attn-implementation', default='sdpa')", "default of an option"),
        ("A = 'sdpa'\nA = 'eager'\nload(attn_implementation=A)", "no constant"),
        ("A = 'sdpa'\ndef f():\n    global A\n    A = 'x'\nload(attn_implementation=A)", "no"),
        ("for A in x:\n    pass\nload(attn_implementation=A)", "no constant"),
    ],
)
def test_what_may_have_been_otherwise_is_told_with_the_reason(text, why):
    setting = settings_in_python(text, NAMES)[-1]
    assert not setting.certain
    assert why in setting.why


def test_an_option_without_a_default_and_other_words_are_no_setting():
    assert found("p.add_argument('--attn-implementation')\nprint('attn_implementation')") == []
    assert found("# attn_implementation='sdpa'\nx = 'attn_implementation=sdpa'") == []


def test_both_settings_are_told_apart():
    text = "load(attn_implementation='sdpa', experts_implementation='grouped_mm')"
    assert {s.name: s.value for s in settings_in_python(text, NAMES)} == {
        "attn_implementation": "sdpa", "experts_implementation": "grouped_mm",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["def", "x\0y", "(" * 1000, "print 'python 2'"])
def test_what_is_no_python_is_said(text):
    with pytest.raises(SourceError):
        settings_in_python(text, NAMES)


def test_a_configuration_file_is_read_line_by_line_and_never_certain():
    text = """
model:
  attn_implementation: flash_attention_2  # fast
"experts_implementation": "grouped_mm",
attn_implementation = "sdpa"
attn_implementation: null
my_attn_implementation: x
"""
    settings = settings_in_config(text, NAMES)
    assert [(s.line, s.value) for s in settings] == [
        (3, "flash_attention_2"), (4, "grouped_mm"), (5, "sdpa"), (6, None),
    ]  # fmt: skip
    assert not any(s.certain for s in settings)


@given(st.text())
def test_no_text_makes_it_raise_anything_else(text):
    settings_in_config(text, NAMES)
    try:
        settings_in_python(text, NAMES)
    except SourceError:
        return
