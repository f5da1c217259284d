"""Run a project's own tests with the training interpreter.

Asked: ``folder``, ``runner`` ("pytest" or "unittest"), ``args``, ``look_only``, ``bytecode``
(whether the folder may get bytecode; false if left out).
Answer: ``{"installed": bool, "environment": digest}``, and where the tests were run ``exit_code``,
``passed``, ``failed``, ``skipped``, ``complete``, ``said``.
"""

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Dict, List, Optional

_UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
_COUNT = re.compile(r"(failures|errors|skipped|unexpected successes)=(\d+)")
_INSTALLED = (".dist-info", ".egg-info", ".egg-link", ".pth")
_SAID_CHARS = 4_000


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Look for the runner, and run it."""
    os.chdir(asked["folder"])
    if importlib.util.find_spec(asked["runner"]) is None:
        return {"installed": False}
    if asked["look_only"]:
        return {"installed": True, "environment": _environment()}
    with tempfile.TemporaryDirectory() as scratch:
        return {"installed": True, **_run(asked, Path(scratch))}


def _environment() -> str:
    """What is installed, by name and version and when; a result of other libraries is another's."""
    found = []
    for place in sys.path:
        try:
            entries = [e for e in os.scandir(place or ".") if e.name.endswith(_INSTALLED)]
        except OSError:  # an archive, or not there
            continue
        found += ["%s %d" % (entry.path, entry.stat().st_mtime_ns) for entry in entries]
    return hashlib.sha256("\n".join(sorted(found)).encode(errors="replace")).hexdigest()


def _run(asked: Dict[str, Any], scratch: Path) -> Dict[str, Any]:
    runner: str = asked["runner"]
    report = scratch / "report.xml"
    command: List[str] = [sys.executable, "-m", runner, *asked["args"]]
    if runner == "pytest":
        command += [f"--junitxml={report}", "-p", "no:cacheprovider"]
    environ = dict(os.environ)
    if not asked.get("bytecode"):
        environ["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(  # noqa: S603 - the project's own runner, which its owner names
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environ,
        check=False,
    )
    said = done.stdout.decode(errors="replace")
    counted = _of_pytest(report) if runner == "pytest" else _of_unittest(said)
    nothing = {"passed": 0, "failed": 0, "skipped": 0}
    complete = counted is not None and done.returncode in (0, 1, 5)
    return {
        "exit_code": done.returncode,
        **(counted or nothing),
        "complete": complete and (done.returncode != 0 or not (counted or nothing)["failed"]),
        "said": said[-_SAID_CHARS:],
    }


def _of_pytest(report: Path) -> Optional[Dict[str, int]]:
    try:
        suites = list(ET.parse(str(report)).getroot().iter("testsuite"))  # noqa: S314 - its own
    except (OSError, ET.ParseError):
        return None
    total = {n: sum(int(s.get(n, "0")) for s in suites) for n in _NAMES}
    failed = total["failures"] + total["errors"]
    passed = max(total["tests"] - failed - total["skipped"], 0)
    return {"passed": passed, "failed": failed, "skipped": total["skipped"]}


_NAMES = ("tests", "failures", "errors", "skipped")


def _of_unittest(said: str) -> Optional[Dict[str, int]]:
    ran = _UNITTEST.findall(said)
    if not ran:
        return None
    last = said.rstrip().splitlines()[-1]
    counts = {name: int(number) for name, number in _COUNT.findall(last)}
    skipped = counts.pop("skipped", 0)
    failed = sum(counts.values())
    return {"passed": max(int(ran[-1]) - failed - skipped, 0), "failed": failed, "skipped": skipped}
