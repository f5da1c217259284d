"""A bench whose figure misses its limit ends with 1 and names it; one that measured less too."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench"
IDLE = {
    "pfid daemon": (0.5, 40.0, 0.0, 0),
    "pfid log reader": (0.05, 20.0, 0.0, 0),
    "pfid together": (0.55, 60.0, 2.0, 9000),
}
ALONE = {name: row for name, row in IDLE.items() if name != "pfid log reader"}
GROWN = [(10, 0.2, 40.0, 1.0), (100, 1.0, 49.0, 1.1), (300, 3.0, 69.0, 1.2), (1000, 10, 139, 1.3)]
FOLLOWED = {"mixed": (3.2, [[22.0, 22.5], [22.0, 21.5]]), "bar": (0.2, [[24.0, 24.0]])}
STEPS = {"8 living": 900.0, "24 living": 150.0, "56 living": 180.0, "24 more, others over": 130.0}
CASES: tuple[tuple[str, tuple[Any, ...], dict[str, tuple[Any, ...]]], ...] = (
    ("cli", ({"pfid --help": 100.0},), {"pfid --help": ({"pfid --help": 151.0},)}),
    (
        "demo",
        ({"torch": 41.0, "numpy": 30.0},),
        {"demo, numpy": ({"numpy": 60.1},), "demo was timed": ({},)},
    ),
    ("launch", (185.0,), {"pfid run": (251.0,)}),
    (
        "log_follow",
        (FOLLOWED,),
        {
            "mtail by pfid": (FOLLOWED | {"mixed": (2.9, [[22.0, 22.0]])},),
            "mixed, more memory": (FOLLOWED | {"mixed": (3.2, [[22.0, 22.0], [22.0, 25.0]])},),
            "looked at twice": (FOLLOWED | {"mixed": (3.2, [[22.0]])},),
            "asked for was read": ({"bar": FOLLOWED["bar"]},),
        },
    ),
    (
        "growth",
        (GROWN,),
        {
            "processor": ([*GROWN[:3], (1000, 20.0, 139.0, 1.3)],),
            "memory": ([*GROWN[:3], (1000, 10.0, 300.0, 1.3)],),
            "registration": ([*GROWN[:3], (1000, 10.0, 139.0, 2.5)],),
        },
    ),
    (
        "growth_of_steps",
        (STEPS,),
        {
            "56 living": (STEPS | {"56 living": 201.0},),
            "others over": (STEPS | {"24 more, others over": 201.0},),
        },
    ),
    (
        "daemon_idle",
        (IDLE, 1.2, 512),
        {
            "a log reader was measured": (ALONE, 1.2, 512),
            "processes held": (IDLE, 1.2, 511),
            "together, RSS": (IDLE | {"pfid together": (0.5, 66.0, 2.0, 9000)}, 1.2, 512),
            "socket answers": (IDLE, 1.6, 512),
        },
    ),
)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a bench as it is when it is run: beside its neighbours."""
    monkeypatch.syspath_prepend(BENCH)
    before = set(sys.modules)
    yield lambda name: importlib.import_module(name).held_against
    for name in {path.stem for path in BENCH.glob("*.py")} & (set(sys.modules) - before):
        del sys.modules[name]


@pytest.mark.parametrize(("name", "good", "missed"), CASES, ids=[case[0] for case in CASES])
def test_a_missed_limit_ends_the_bench_with_1_and_is_named(
    bench: Callable[[str], Callable[..., int]],
    capsys: pytest.CaptureFixture[str],
    name: str,
    good: tuple[Any, ...],
    missed: dict[str, tuple[Any, ...]],
) -> None:
    held_against = bench(name)
    assert held_against(*good) == 0, capsys.readouterr().out
    for what, figures in missed.items():
        capsys.readouterr()
        assert held_against(*figures) == 1, what
        [line] = [said for said in capsys.readouterr().out.splitlines() if "MISSED 1" in said]
        assert what in line
