"""Every figure as the training playbook writes it, could it stand superseded and go unseen?

Each is put where figures stand (prose, a comment broken by hand, tables, code, HTML, TeX) and
written with the separators of other countries.
"""

import re
from functools import cache

import pytest

from pfid.formats.figures.prefilter import prefilter
from pfid.formats.figures.reading import figures_in
from pfid.formats.figures.wanted import Wanted

FIGURES = [
    (8.6, None, "%", "8.6% MFU"), (20.9, None, "%", "20.9% at w=2,048"), (51.3, None, "%", "51.3%"),
    (67.8, None, "%", "67.8% at w=16,384"), (1.3, None, "x", "~1.3\u00d7"),
    (5, None, "s", "~5 s of a 35 s step"), (21, 33, "s", "21\u201333 s of 35"),
    (35.244, None, "s", "35.244 s"), (26_048, None, "targets", "26,048 loss targets"),
    (38.567, None, "s", "38.567 s"), (9.4, None, "%", "9.4% slower for 24% less work"),
    (24, None, "%", "9.4% slower for 24% less work"), (256, None, "x", "a 256\u00d7 range"),
    (3.54, 3.61, "", "3.54\u20133.61"), (29.9, None, "%", "29.9%"), (89.5, None, "%", "89.5%"),
    (202, None, "%", "202%"), (374, None, "ms", "374 ms of a 35.3 s step (1.1%)"),
    (35.3, None, "s", "374 ms of a 35.3 s step (1.1%)"), (1.1, None, "%", "(1.1%)"),
    (1_024, None, "rows", "max 1,024 allowed/row, at rows of 9"),
    (279, 292, "W", "279\u2013292 W"), (27, None, "TFLOPS", "27 TFLOPS"),
    (304, None, "TFLOPS", "304 TFLOPS"), (4, None, "ND", "~4ND"), (6, None, "ND", "~6ND"),
    (7, None, "h", "a ~7-hour run"), (35, None, "min", "~35 min per tune"),
    (48.1, None, "GiB", "48.1 GiB"), (79.7, None, "GiB", "79.7 GiB"),
    (97.9, None, "GiB", "97.9 GiB"),
    (238, None, "GB", "238 GB in BF16"), (119, None, "B", "119 B"), (2.6, None, "x", "2.6x slower"),
    (2.3, None, "x", "2.3x its size"), (1.755e9, None, "parameters", "1.755 B parameters"),
    (540, 546, "tok/s", "540\u2192546 tok/s"), (1_415, 1_439, "tok/s", "1,415\u21921,439 tok/s"),
    (196, None, "modules", "196 LoRA modules"), (19, None, "%", "(19%)"),
    (153, None, "tensors", "153 tensors"), (29, None, "%", "29/100"), (3, None, "%", "3/100"),
    (609, None, "MB", "609 MB"), (813, None, "turns", "813 turns"),
    (20_982, None, "samples", "20,982 samples"), (1_013, None, "shards", "1,013 weight shards"),
    (1_312, None, "steps", "1,312 steps"), (44.3, None, "s/it", "44.3 -> 20.1 s/it"),
    (44.3, 20.1, "s/it", "44.3 -> 20.1 s/it"), (65.2, None, "%", "65.2%"),
    (20, None, "x", "20\u00d7"),
    (11.84, None, "s/it", "min 11.84 / p50 19.75 / p99 30.52 / max 45.79 s/it"),
    (19.75, None, "s/it", "min 11.84 / p50 19.75 / p99 30.52 / max 45.79 s/it"),
    (30.52, None, "s/it", "min 11.84 / p50 19.75 / p99 30.52 / max 45.79 s/it"),
    (19.48, None, "s/step", "p50=19.48  p99=28.96  seconds_per_optimizer_step"),
    (400, None, "s", "p50 ~20 s against p50 ~400 s"),
    (-221_712, None, "tokens", "\u2212221,712 tokens"),
    (1_445, None, "steps", "1,445 logged steps"), (224, None, "lines", "224 uncommitted lines"),
    (9.375, None, "%", "18/192"), (70.3, None, "%", "70.3%"),
    (67, None, "words", "median 67 words"),
    (15, None, "words", "a floor of 15 words"), (669, 727, "words", "669 \u2192 727 words"),
    (1_500, None, "tokens", "1,500 tokens"), (9.6, None, "%", "9/94  = 9.6%"),
    (12.6, None, "%", "12/95 = 12.6%"), (1.77, None, "pp", "sd 1.77 pp"),
    (2.78, None, "pp", "2.78 pp"), (3.29, None, "pp", "3.29 pp at n=96"),
    (11.78, None, "%", "11.78% [9.49, 14.07]"), (9.49, 14.07, "%", "11.78% [9.49, 14.07]"),
    (65.38, None, "%", "65.38%"), (2.5, None, "min", "2.5 min to reuse"),
    (4.3, None, "h", "~4.3 HOURS to rebuild"), (145.5, None, "s", "145.5 seconds on 32 workers"),
    (145.5, None, "s", "145.5 s on 32 workers"), (106, None, "x", "off by a factor of 106"),
    (11.7, None, "h", "an 11.7-hour window"), (7.6, None, "h", "a 7.6 h job"),
    (22.8, None, "s", "22.8 s / 65.2%"), (2, 5, "x", "2\u20135\u00d7"), (3, None, "%", "\u22723%"),
    (256, None, "samples", "~256 samples"), (0.9, None, "%", "0.9% slower"),
    (3_840, None, "launches", "~3,840 expert-GEMM launches"), (1, 3, "%", "~1\u20133% lever"),
    (1.07, None, "x", "1.07\u00d7 over FA2"), (35, 46, "s/it", "~35\u201346 s/it"),
    (13.9, None, "h", "~13.9 h ETA"), (6.87e-4, None, "s/token", "6.87e-4 s/token"),
    (8.85e-8, None, "s/token\u00b2", "8.85e-8 s/token\u00b2"),
    (22_835.8, None, "ms", "22,835.8 ms"),
    (2_774.0, None, "ms", "2,774.0 ms"), (35.5, None, "%", "~35.5%"),
    (2.6, None, "points", "2.6 points"),
]  # fmt: skip
IDS = [f"{n}-{written}" for n, (_, _, _, written) in enumerate(FIGURES)]
ENTITIES = {" ": "&nbsp;", "\u2013": "&ndash;", "\u00d7": "&times;", "\u2192": "&rarr;",
            "%": "&#37;",
            "\u2212": "&minus;", "\u00b2": "&sup2;"}  # fmt: skip
TEX = {"%": r"\%", "\u00d7": r"$\times$", "\u2013": "--", "\u2192": r"$\to$"}


def found(line, wanted, below=""):
    read = [one.text for one in figures_in(line, [wanted], "", below)]
    assert not read or quick(wanted).search(line), "the quick look would miss it"
    return bool(read)


@cache
def quick(wanted):
    return re.compile(prefilter([wanted]))


def with_signs(text, signs):
    return "".join(signs.get(sign, sign) for sign in text)


def carriers(written):
    yield f"It was said to be {written}, and nobody looked again."
    yield f"# {written}"
    yield f'NOTE = "{written}"'
    yield f"| it | **{written}** | other |"
    yield f"<tr><td>it</td><td>{with_signs(written, ENTITIES)}</td></tr>"
    yield f"<li><b>{written}</b></li>"
    yield rf"\item {with_signs(written, TEX)}"
    yield f"- `{written}`"
    yield f"it,{written},other" if "," not in written else f'it;"{written}";other'


def other_separators(written):
    """The same with thousands and decimals parted as they are elsewhere."""
    for mark in (" ", "'", "_", "\u202f", "\u2019"):
        yield re.sub(r"(?<=\d),(?=\d{3})", mark, written)
    swapped = re.sub(r"(?<=\d)[.,](?=\d)", lambda mark: ".,"[mark[0] == "."], written)
    if not re.search(r"\d\.\d+,\d", swapped):
        yield swapped


def wanted_of(low, high, unit):
    return Wanted(key="k", low=low, high=high, unit=unit)


@pytest.mark.parametrize(("low", "high", "unit", "written"), FIGURES, ids=IDS)
def test_it_is_found_wherever_it_stands(low, high, unit, written):
    for line in carriers(written):
        assert found(line, wanted_of(low, high, unit)), line


@pytest.mark.parametrize(("low", "high", "unit", "written"), FIGURES, ids=IDS)
def test_it_is_found_with_other_separators(low, high, unit, written):
    for line in other_separators(written):
        assert found(f"it was {line} then", wanted_of(low, high, unit)), line


@pytest.mark.parametrize(("low", "high", "unit", "written"), FIGURES, ids=IDS)
def test_a_figure_beside_it_is_not_taken_for_it(low, high, unit, written):
    for line in carriers(written):
        wanted = wanted_of(low * 1.0371, high and high * 1.0371, unit)
        assert not list(figures_in(line, [wanted])), line


@pytest.mark.parametrize(
    ("low", "high", "unit", "written"),
    [pytest.param(*one, id=name) for one, name in zip(FIGURES, IDS, strict=True) if " " in one[3]],
)
def test_it_is_found_in_a_line_broken_by_hand(low, high, unit, written):
    """Behind its number, where a blank stands before its unit."""
    at = max((m.end() for m in re.finditer(r"\d%?(?= [a-zA-Z])", written)), default=0)
    above, below = written[:at], written[at:].strip()
    if not at or list(figures_in(above, [wanted_of(low, high, unit)])):
        return
    if not list(figures_in(f"{above} {below}", [wanted_of(low, high, unit)])):
        return
    if re.search(r"\d", below) or below.startswith("B "):
        return  # another number stands below, or what multiplies this one
    assert found(f"# so it was {above}", wanted_of(low, high, unit), f"# {below}"), written
