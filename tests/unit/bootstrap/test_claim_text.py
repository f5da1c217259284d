"""Is a ledger changed without losing a word that somebody wrote into it?"""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pfid.bootstrap.claims.claim_text import (
    LedgerTextError,
    text_of,
    with_claim,
    with_superseded,
)
from pfid.config.claims import Claim, Source, loads_claims
from pfid.domain.errors import ConfigError

LEDGER = """# ours
[[claims]] # the first
key = "a"
text = '''
[claims] are what we say
status = "measured"
'''
figure = 4.3
date = 2026-08-24
source = { kind = "derived", by = "b" } # a guess
  status = 'derived'   # for now
expires = 2027-01-01

  [[ claims ]]
key = "b"
text = "b"
date = 2026-08-24
status = "measured"
[claims.source]
kind = "measured"
by = "c"
# the end"""

INLINE = """claims = [
  { key = "a", text = "t", date = 2026-01-01, status = "measured", source = SOURCE },
]""".replace("SOURCE", '{ kind = "measured", by = "b" }')


def fallen(text, at):
    claim = loads_claims(text).claims[at]
    return replace(
        claim, status="superseded", superseded_by="c", falls=['a "x"'], survives=["b\n", "ü😀"]
    )


LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
WORDS = st.text(LETTERS, min_size=1).filter(
    lambda t: t.strip() and not any(0xD800 <= ord(c) < 0xE000 for c in t)
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CLAIMS = st.builds(
    Claim,
    key=WORDS,
    text=WORDS,
    figure=st.none() | NUMBERS | st.lists(NUMBERS, min_size=2, max_size=2).map(sorted),
    unit=st.text(LETTERS),
    date=st.dates(),
    source=st.builds(Source, kind=st.sampled_from(["measured", "derived", "consensus"]), by=WORDS),
    describes=st.text(LETTERS),
    expires=st.none() | st.dates(),
    status=st.sampled_from(["measured", "derived", "negative"]),
    falls=st.lists(WORDS, max_size=2),
)


@given(CLAIMS)
def test_every_claim_is_read_as_it_was_written(claim):
    assert loads_claims(text_of(claim)).claims == [claim]


def test_half_a_character_is_written_as_none():
    claim = Claim(
        key="k",
        text="\udcff",
        date=dt.date(2026, 1, 1),
        source=Source(kind="measured", by="b"),
        status="measured",
    )
    assert loads_claims(text_of(claim)).claims[0].text == "\ufffd"


@pytest.mark.parametrize("text", ["", LEDGER, LEDGER + "\n", LEDGER.replace("\n", "\r\n")])
def test_a_claim_is_added_at_the_end(text):
    claim = loads_claims(LEDGER).claims[0]
    changed = with_claim(text, claim)
    assert changed.startswith(text)
    assert loads_claims(changed).claims == [*loads_claims(text).claims, claim]


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_status_of_a_superseded_claim_is_rewritten(at, end):
    text = LEDGER.replace("\n", end)
    claim = fallen(text, at)
    changed = with_superseded(text, at, claim)
    assert loads_claims(changed).claims[at] == claim
    assert loads_claims(changed).claims[1 - at] == loads_claims(text).claims[1 - at]
    before, after = set(text.split()), set(changed.split())
    assert before - after <= {'"measured"', "'derived'"}
    assert set(text.splitlines()) - set(changed.splitlines()) == {
        ("  status = 'derived'   # for now", 'status = "measured"')[at]
    } - set(changed.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        INLINE,
        LEDGER.replace("  status = 'derived'   # for now", '"status" = "derived"').replace(
            'status = "measured"\n', "", 1
        ),
        LEDGER.replace("[claims] are", "[[claims]]\nare"),
        LEDGER.replace("expires", 'survives = ["x"]\nexpires'),
    ],
)
def test_what_no_program_should_change_is_refused(text):
    with pytest.raises(LedgerTextError, match="by hand"):
        with_superseded(text, 0, fallen(text, 0))


def test_an_inline_ledger_takes_no_table():
    with pytest.raises(LedgerTextError, match="by hand"):
        with_claim("claims = []", loads_claims(LEDGER).claims[0])


@pytest.mark.parametrize("text", ["x = ", "[[claims]]\nkey = 1", "[" * 100_000, "\x00"])
def test_what_is_no_ledger_is_not_changed(text):
    with pytest.raises(ConfigError):
        with_claim(text, loads_claims(LEDGER).claims[0])
