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
import threading
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

_UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
_STATUS = re.compile(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?\s*$", re.MULTILINE)
_COUNT = re.compile(r"([a-z ]+)=(\d+)")
_LEFT_OUT = ("skipped", "expected failures")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_INSTALLED = (".dist-info", ".egg-info", ".egg-link", ".pth")
_SAID_CHARS = 4_000
_TAIL_BYTES = 1 << 20
"""unittest reports at the end: whatever its tests print before does not matter."""
_LEFT_OPEN_S = 2.0
"""What the runner wrote is there when it ends; whom it left running may say more, or nothing."""


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
    apart = runner == "unittest"  # it reports on stderr: what tests print is flushed after it
    code, out, told = _ended(command, environ, apart=apart)
    counted = _of_pytest(report) if runner == "pytest" else _of_unittest(told)
    return {
        "exit_code": code,
        **_came(counted, code),
        "said": (out + told)[-_SAID_CHARS:],
    }


def _ended(command: List[str], environ: Dict[str, str], *, apart: bool) -> Tuple[int, str, str]:
    """Status, and the end of both outputs; whom it leaves running is not waited for."""
    runner = subprocess.Popen(  # noqa: S603 - the project's own runner, which its owner names
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        env=environ,
    )
    tails = [_Tail(pipe.fileno()) for pipe in (runner.stdout, runner.stderr) if pipe is not None]
    code = runner.wait()
    said = [tail.text() for tail in tails]
    return code, said[0], said[1] if apart else ""


class _Tail:
    """The end of what comes through a pipe, however much that is."""

    def __init__(self, pipe: int) -> None:
        """Read it, in the background."""
        self._end = b""
        self._reader = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._reader.start()

    def _read(self, pipe: int) -> None:
        while came := os.read(pipe, _TAIL_BYTES):
            self._end = (self._end + came)[-_TAIL_BYTES:]

    def text(self) -> str:
        """What has come; where others hold the pipe open, what has come until now."""
        self._reader.join(_LEFT_OPEN_S)
        return self._end.decode(errors="replace")


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
