"""Prometheus's own ``promtool``, where it is installed: it decides whether a rule fires."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

PROGRAM: Final = "promtool"
TIMEOUT_S: Final = 60.0


def installed() -> bool:
    """Whether it can be asked."""
    return shutil.which(PROGRAM) is not None


def test_rules(test_file: Path) -> str:
    """Run a file of rule tests; return what is wrong, "" if nothing is."""
    return _said("test", "rules", str(test_file))


def check_rules(rule_file: Path) -> str:
    """Check a rule file; return what is wrong, "" if nothing is."""
    return _said("check", "rules", str(rule_file))


def _said(*arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - its own words, no shell
            [PROGRAM, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{PROGRAM} did not answer: {problem}"
    if done.returncode == 0:
        return ""
    return (done.stderr.strip() or done.stdout.strip() or f"{PROGRAM} failed")[-2000:]
