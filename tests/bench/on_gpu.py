"""What could only be believed without a GPU, tried on one: for the day a machine is lent.

Prints one JSON object: ``beliefs`` (what pfid relies on, whether it holds here, what was seen; null
where it could not be tried), ``figures``, ``left_out`` (parts there was no time for). Ends by
itself well within ten minutes, and needs the base install and a python with torch:

    python tests/bench/on_gpu.py --python python3 > gpu.json

Exit 0 if every belief held, 1 if one did not, 3 if there is no GPU to try them on. Against the
stand-in (tests/nvml_shim) and a trainer of its own it says what this script does, and nothing of
GPUs; ``tests/e2e/test_on_gpu.py`` runs it so.
"""

import argparse
import json
import sys

from gpu_day import Day
from gpu_day_driver import box, calls
from gpu_day_watched import burn, commands, watched
from gpu_day_work import idle, loads


def main() -> int:
    """Try everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch")
    parser.add_argument("--load", type=float, default=12.0, help="seconds of work at a time")
    parser.add_argument("--parts", default="", help="these only, with commas between")
    chosen = parser.parse_args()
    only = chosen.parts.split(",") if chosen.parts else []
    day = Day(chosen.python, chosen.load)
    for name, needs_s, act in (
        ("box", 5, box),
        ("calls", 20, calls),
        ("idle", 20, idle),
        ("loads", 90, loads),
        ("watched", 150, watched),
        ("commands", 60, commands),
        ("burn", 120, burn),
    ):
        if not only or name in only:
            day.part(name, needs_s, act)
    print(json.dumps(day.told(), indent=1))
    if not day.uuid:
        return 3
    return 1 if day.left_out or any(b["holds"] is False for b in day.beliefs) else 0


if __name__ == "__main__":
    sys.exit(main())
