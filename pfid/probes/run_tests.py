"""Run a project's own tests with the training interpreter.

Asked: ``folder``, ``runner`` ("pytest" or "unittest"), ``args``, ``look_only``, ``bytecode``
(whether the folder may get bytecode; false if left out).
Answer: ``{"installed": bool, "environment": digest}``, and where the tests were run ``exit_code``,
``passed``, ``failed``, ``skipped`` (those that are expected to fail among them), ``red`` (the
runner says that something is wrong and no test failed: a coverage gate, a hook at its end),
``complete``, ``said``.
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
_STATUS = re.compile(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?\s*$", re.MULTILINE)
_COUNT = re.compile(r"([a-z ]+)=(\d+)")
_LEFT_OUT = ("skipped", "expected failures")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
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
    apart = subprocess.PIPE if runner == "unittest" else subprocess.STDOUT
    done = subprocess.run(  # noqa: S603 - the project's own runner, which its owner names
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=apart,  # where unittest reports: what tests print is flushed after it
        env=environ,
        check=False,
    )
    told = (done.stderr or b"").decode(errors="replace")
    counted = _of_pytest(report) if runner == "pytest" else _of_unittest(told)
    return {
        "exit_code": done.returncode,
        **_came(counted, done.returncode),
        "said": (done.stdout.decode(errors="replace") + told)[-_SAID_CHARS:],
    }


def _came(counted: Optional[Dict[str, int]], exit_code: int) -> Dict[str, Any]:
    """The counts, and whether the runner's own status goes with them."""
    if counted is None:
        return {"passed": 0, "failed": 0, "skipped": 0, "red": False, "complete": False}
    meant = {0: not counted["failed"], 1: True, 5: not (counted["passed"] or counted["failed"])}
    return {
        **counted,
        "red": exit_code == 1 and not counted["failed"],
        "complete": meant.get(exit_code, False),
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


def _of_unittest(told: str) -> Optional[Dict[str, int]]:
    """By the last report; whatever else was written to the same stream before and after it."""
    plain = _COLOUR.sub("", told)
    reports = list(_UNITTEST.finditer(plain))
    status = _STATUS.search(plain, reports[-1].end()) if reports else None
    if status is None:
        return None
    counts = {name.strip(): int(n) for name, n in _COUNT.findall(status.group(1) or "")}
    skipped = sum(counts.pop(name, 0) for name in _LEFT_OUT)
    failed = sum(counts.values())
    passed = max(int(reports[-1].group(1)) - failed - skipped, 0)
    return {"passed": passed, "failed": failed, "skipped": skipped}
