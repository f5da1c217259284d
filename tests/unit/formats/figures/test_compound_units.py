"""Is a rate found where its unit stands in a comment, a head or a name, and not right behind it?"""

import pytest

from pfid.formats.figures.reading import figures_in
from pfid.formats.figures.wanted import Wanted

SPEED = Wanted(key="k", low=1_840, unit="tok/s")
STEP = Wanted(key="k", low=3.2, unit="s/step")
ITERATIONS = Wanted(key="k", low=1.25, unit="it/s")


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        (SPEED, "rate = 1840  # tok/s"),
        (SPEED, "RATE = 1_840  // tokens / s"),
        (SPEED, "throughput_tok_s: 1840"),
        (SPEED, "throughput (tok/s) = 1840"),
        (SPEED, "tok/s: 1840"),
        (SPEED, "tok/s=1840"),
        (SPEED, '"tok_s": 1840,'),
        (SPEED, "ktok_s: 1.84"),
        (SPEED, "1840 tok/sec"),
        (SPEED, "1840 tokens per sec"),
        (SPEED, "| tok/s | 1840 |"),
        (STEP, "step = 3.2  # s/step"),
        (STEP, "(s/step): 3.2"),
        (STEP, "ms_step = 3200"),
        (ITERATIONS, "(it/s): 1.25"),
        (ITERATIONS, "1.25 steps/sec"),
        (ITERATIONS, "1.25 iter/s"),
        (ITERATIONS, "steps_per_second: 1.25"),
        (ITERATIONS, "steps_s: 1.25"),
    ],
)
def test_a_unit_with_a_stroke_is_read_wherever_a_plain_one_is(wanted, line):
    assert [one.key for one in figures_in(line, [wanted])] == ["k"]


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        (SPEED, "1840 in a batch of 4 at 300 tok/s"),
        (SPEED, "1840 in a batch of 4 at 300tok/s"),
        (SPEED, "1840  # s/tok"),
        (SPEED, "1840  # ktok/s"),
        (SPEED, "stok_s = 1840"),
        (SPEED, "read 1840 of /data/tok/s/a.bin"),
        (SPEED, "rate = 1840  # tok/s/gpu"),
        (STEP, "3.2  # ms/step"),
        (STEP, "its_step = 3.2"),
        (ITERATIONS, "s_it = 1.25"),
        (ITERATIONS, "step_s = 1.25"),
        (ITERATIONS, "iter_s: 1.25"),
    ],
)
def test_another_unit_or_that_of_another_number_tells_nothing(wanted, line):
    assert list(figures_in(line, [wanted])) == []


@pytest.mark.parametrize("head", ["tok_s", "tok/s", "speed (tok/s)", "tokens/sec", "tok_per_s"])
def test_a_unit_with_a_stroke_may_stand_over_a_column(head):
    assert [one.text for one in figures_in("a,1840,7", [SPEED], f"run,{head},seed")] == ["1840"]
    assert list(figures_in("a,7,1840", [SPEED], f"run,{head},seed")) == []
