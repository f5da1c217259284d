"""The quick look: one regular expression that every line with one of the figures matches.

Any engine takes it: it knows no look-around.
"""

import math
from collections.abc import Iterable, Iterator
from decimal import ROUND_DOWN, Context, Decimal
from typing import Final

from pfid.formats.durations_written import parts_pattern
from pfid.formats.figures.broken_lines import OPEN_TAIL
from pfid.formats.figures.markup import VULGAR, vulgar_value
from pfid.formats.figures.wanted import Wanted, equal
from pfid.formats.number_words import MULTIPLIERS, spelled_out
from pfid.formats.units import sizes, unit_of

_BEGINS: Final = r"(\b|\\(times|cdot|pm|to|rightarrow|textendash))"
"""Of a word, or behind a sign of TeX."""
_SEPARATORS: Final = "([.,_'\u2019\u00a0\u202f\u2009 ]|&#?[a-zA-Z0-9]{2,9};|\\{[.,]\\}|\\\\[,;: ])?"
_STOP: Final = "(\\{?[.,\u00b7]\\}?)"
_BLANK: Final = (
    "[\\s\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000]?"
)
"""Every blank by itself: for some engines, only those of ASCII are."""
_DIGITS_MAX: Final = 9
"""Significant digits that somebody would write a converted figure with."""
_MULTIPLIED: Final = (0.001, 1e6)
"""Between which a number stands before a letter that multiplies it."""
_BETWEEN_ENDS: Final = "([^0-9]{0,6}[0-9][0-9.,]*)?" + _BLANK
"""What may stand between the first number of a range and the letter behind its second."""
IN_LINE: Final = "[^0-9\n]"
"""What is no digit, on the line."""
_BETWEEN: Final = (
    f"([.,][0-9]+)?({IN_LINE}*(([A-Za-z_\"'=#-]|[:;] ?)[0-9]+(\\.[0-9]+)?|<[^<>\n]*)){{0,6}}"
    f"([^0-9.\n]|\\.{IN_LINE}){IN_LINE}*"
)
"""What may stand between the ends of a range: decimals, names, tags with what they are given."""
_POWER: Final = f"({IN_LINE}{{0,8}}10)?{IN_LINE}{{0,3}}[0-9]*"
_OPEN_MAX: Final = 24
_BELOW_MAX: Final = 16
"""So much at the end of a line and at the beginning of the next, where a range is broken."""
_DIGITS_FLOAT: Final = 16
"""Beyond these, the digits of a float are its binary form and nobody's figure."""
_FRACTIONS: Final = tuple((letter, vulgar_value(letter)) for letter in VULGAR)
_WHOLES: Final = (10, 100, 1_000, 10_000)
"""Of so many a share is counted, and of the smallest numbers of which it is a whole part."""
_WHOLES_TRIED: Final = range(20, 1_001)
_WHOLES_KEPT: Final = 12


def prefilter(wanted: Iterable[Wanted], *, by_line: bool = False) -> str:
    """A regular expression, without look-around, that every spelling matches; "" for none.

    Args:
        wanted: figures.
        by_line: for an engine that looks at each line by itself.
    """
    whole, stopped, signs = set[str](), set[str](), set[str]()
    for one in wanted:
        if one.high is None:
            whole |= {*_spelled(one, one.low), *_durations(one), *_counted(one)}
            whole |= set(_broken(one, by_line=by_line))
            stopped |= set(_without_a_whole(one, one.low))
            signs |= set(_signs(one, one.low))
        else:
            ends, bare, letters = _range(one, one.high, by_line=by_line)
            whole |= ends
            stopped |= bare
            signs |= letters
    if not whole:
        return ""
    behind_a_stop = rf"|\B\.({'|'.join(sorted(stopped))})" if stopped else ""
    alone = f"|{'|'.join(sorted(signs))}" if signs else ""
    return rf"({_BEGINS}0*({'|'.join(sorted(whole))}){behind_a_stop}{alone})"


def _spelled(one: Wanted, value: float) -> Iterator[str]:
    for form in _forms(one, value):
        yield from _digits(form)
    if one.unit:
        yield from _in_words(value)


def _range(one: Wanted, high: float, *, by_line: bool) -> tuple[set[str], set[str], set[str]]:
    """The lower end, and the upper one behind it on the line, or where the line is broken.

    Alone, the lower end of a range from 2 to 5 stands on every second line of a program.

    Returns:
        Patterns that begin with a digit or a word, with what stands behind a bare stop, and with
        a fraction of one letter.
    """
    begins = {begin for form in _forms(one, one.low) for begin in _begins(form)}
    if one.unit:
        begins |= set(_in_words(one.low))
    upper = "|".join(
        sorted({*_spelled(one, high), *_without_a_whole(one, high), *_signs(one, high)})
    )
    if not begins or not upper:
        return set(), set(), set()
    below = f"{IN_LINE}{{0,{_OPEN_MAX}}}\\n{IN_LINE}{{0,{_BELOW_MAX}}}0*({upper})"
    behind = f"({_BETWEEN}0*({upper})|{f'{OPEN_TAIL}$' if by_line else below})"
    bare = {f"{plain[2:]}{_more_of(plain)}{behind}" for plain in _parts_of_one(one, one.low)}
    letters = {f"{sign}{behind}" for sign in _signs(one, one.low)}
    return {f"({'|'.join(sorted(begins))}){behind}"}, bare, letters


def _begins(value: float) -> Iterator[str]:
    """How the lower end of a range begins, up to what is no digit."""
    size = abs(value)
    if not math.isfinite(size):
        return
    yield from _with_a_sign(size)
    plains = {f"{_bare(Decimal(repr(read))):f}" for read in _before_a_multiplier(size)}
    for rounded in _roundings(size):
        plains.add(f"{rounded:f}")
        yield _with_exponent(rounded) + _POWER
    yield from (_pattern(plain) + (_more_of(plain) if "." in plain else "") for plain in plains)


def wholes(share: float) -> Iterator[tuple[int, int]]:
    """How a share is written as a count of a whole: 0.29 as 29 of 100, 0.09375 as 18 of 192."""
    kept = 0
    for whole in sorted({*_WHOLES, *_WHOLES_TRIED}):
        part = share * whole
        if not 0 < part < whole or not equal((round(part),), part):
            continue
        told = whole in _WHOLES or kept < _WHOLES_KEPT
        kept += whole not in _WHOLES
        if told:
            yield round(part), whole


def _counted(one: Wanted) -> Iterator[str]:
    meant = unit_of(one.unit) if one.unit else None
    if meant is not None and meant.dimension == "share" and one.high is None:
        yield from (f"{part}[^0-9]{{1,8}}{whole}" for part, whole in wholes(one.low * meant.factor))


def _with_a_sign(size: float) -> Iterator[str]:
    """`4½`."""
    for whole, letter in _vulgar(size):
        if whole:
            yield f"{_pattern(str(whole))}[ \u2009\u202f\u2064]?{letter}"


def _signs(one: Wanted, figure: float) -> Iterator[str]:
    """`½`, which no engine takes for the beginning of a word alike."""
    for form in _forms(one, figure):
        if math.isfinite(form):
            yield from (letter for whole, letter in _vulgar(abs(form)) if not whole)


def _vulgar(size: float) -> Iterator[tuple[int, str]]:
    """A whole and a fraction of one letter that make a figure, or what a letter multiplies."""
    for read in (size, *_before_a_multiplier(size)):
        whole = math.floor(read)
        if whole == read:
            continue
        for letter, part in _FRACTIONS:
            if equal((whole + part,), read):
                yield whole, letter


def _broken(one: Wanted, *, by_line: bool) -> Iterator[str]:
    """A number at the end of a line, below which stands what multiplies it."""
    ends = f"{IN_LINE}{{0,{_BELOW_MAX}}}{'$' if by_line else chr(92) + 'n'}"
    for size in (abs(form) for form in _forms(one, one.low) if math.isfinite(form)):
        for read in _before_a_multiplier(size):
            if read != size:
                yield f"{_pattern(f'{_bare(Decimal(repr(read))):f}')}0*{ends}"


def _in_words(value: float) -> Iterator[str]:
    for word in spelled_out(value):
        yield f"[{word[0].upper()}{word[0]}]{word[1:]}"


def _forms(one: Wanted, figure: float) -> Iterator[float]:
    """A figure, or an end of it, in each unit in which somebody would write it out."""
    meant = unit_of(one.unit) if one.unit else None
    yield figure
    if meant is None:
        return
    for factor in sizes(meant.dimension):
        value = figure * meant.factor / factor
        if value == float(f"{value:.{_DIGITS_MAX}g}") or math.isclose(
            value, float(f"{value:.{_DIGITS_MAX}g}"), rel_tol=1e-12
        ):
            yield float(f"{value:.{_DIGITS_MAX}g}")


def _durations(one: Wanted) -> Iterator[str]:
    meant = unit_of(one.unit) if one.unit else None
    if meant is not None and meant.dimension == "time" and math.isfinite(one.low):
        yield from parts_pattern(abs(one.low) * meant.factor)


def _multiplied(size: float) -> Iterator[str]:
    """The digits that stand before a `k`, or before the second `k` of a range."""
    for read in _before_a_multiplier(size):
        plain = f"{_bare(Decimal(repr(read))):f}"
        zeros = "0*" if "." in plain else f"({_STOP}0+)?"
        yield _pattern(plain) + zeros + _BETWEEN_ENDS + "[kKMGBTm&\\\\]"
        yield _pattern(plain) + zeros + _BLANK + "-?(thousand|Thousand|Tsd|M|m|b|B|t|T)"


def _before_a_multiplier(size: float) -> Iterator[float]:
    for many in sorted(set(MULTIPLIERS.values())):
        read = float(f"{size / many:.{_DIGITS_MAX}g}")
        if equal((read * many,), size) and _MULTIPLIED[0] <= read < _MULTIPLIED[1]:
            yield read


def _digits(value: float) -> Iterator[str]:
    """Patterns of the digits of a value, plain and with a power of ten, however many are written.

    Any number of digits that still means the value begins like one of these.
    """
    size = abs(value)
    if not math.isfinite(size):
        return
    yield from _multiplied(size)
    yield from _with_a_sign(size)
    for rounded in _roundings(size):
        plain = f"{rounded:f}"
        yield _pattern(plain) + (_to_its_end(plain) if "." in plain else "([^0-9]|$)")
        yield _with_exponent(rounded)


def _with_exponent(rounded: Decimal) -> str:
    exponent = rounded.adjusted() if rounded else 0
    mantissa = f"{_bare(rounded.scaleb(-exponent, Context(prec=400))):f}"
    more = _more_of(mantissa) if "." in mantissa else f"({_STOP}[0-9]+)?"
    powers = "|".join(sorted({str(abs(exponent - thousands)) for thousands in range(0, 13, 3)}))
    return f"{_pattern(mantissa)}{more}{_BLANK}([x\u00d7*\u00b7\u22c5&\\\\]|[eE][-+]?0*({powers}))"


def _more_of(plain: str) -> str:
    """Further decimals that leave a number what it is: of 0.143 is 0.1430 one, and no 0.1437."""
    zeros = _zeros_behind(plain)
    return f"(0{{0,{zeros - 1}}}|0{{{zeros}}}[0-9]*)" if zeros > 0 else "[0-9]*"


def _to_its_end(plain: str) -> str:
    """The same, up to what is no digit."""
    zeros = _zeros_behind(plain)
    return f"(0{{0,{zeros - 1}}}([^0-9]|$)|0{{{zeros}}})" if zeros > 0 else ""


def _zeros_behind(plain: str) -> int:
    """So many zeros follow before another digit is too small to tell numbers apart."""
    return _DIGITS_MAX - 1 - len(plain.replace(".", "").lstrip("0"))


def _without_a_whole(one: Wanted, figure: float) -> Iterator[str]:
    """The digits behind the stop of `.086`."""
    yield from (plain[2:] + _to_its_end(plain) for plain in _parts_of_one(one, figure))


def _parts_of_one(one: Wanted, figure: float) -> Iterator[str]:
    """The forms below one, each as `0.086`."""
    for size in (abs(form) for form in _forms(one, figure) if math.isfinite(form)):
        for plain in (f"{rounded:f}" for rounded in _roundings(size)):
            if plain.startswith("0."):
                yield plain


def _roundings(size: float) -> set[Decimal]:
    """The value as it reads in every number of digits that :func:`equal` takes for it."""
    exact = Decimal(size)
    read = {Decimal(f"{size:.{digits}g}") for digits in range(_DIGITS_MAX, _DIGITS_FLOAT + 1)}
    cut = Context(prec=_DIGITS_FLOAT, rounding=ROUND_DOWN).plus(exact)
    shortest = Decimal(repr(size))
    if size >= 10.0**_DIGITS_FLOAT:
        read.add(exact)
    return {_bare(one) for one in (*read, cut, shortest) if equal((float(one),), size)}


def _bare(number: Decimal) -> Decimal:
    """The number without zeros at its end, however long it is."""
    return number.normalize(Context(prec=400))


def _pattern(plain: str) -> str:
    whole, _, fraction = plain.partition(".")
    head = len(whole) % 3 or 3
    groups = [whole[:head], *(whole[i : i + 3] for i in range(head, len(whole), 3))]
    body = _SEPARATORS.join(groups)
    return body + (f"{_STOP}{fraction}" if fraction else "")
