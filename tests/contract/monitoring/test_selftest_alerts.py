"""``pfid selftest --alerts``: the leg is what promtool says, and null where nobody can say."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

pytestmark = [pytest.mark.full, pytest.mark.needs("promtool")]


def selftest(*options, path=None):
    environ = dict(os.environ) | ({} if path is None else {"PATH": str(path)})
    return subprocess.run(
        [sys.executable, "-P", "-m", "pfid", "selftest", "--check", "run_gone", *options],
        capture_output=True,
        text=True,
        env=environ,
        check=False,
    )


def leg(done):
    (gate,) = json.loads(done.stdout)["gates"]
    return gate["proven_to"]["alerts"]


def test_the_leg_is_proven_with_promtool_and_said_per_check():
    done = selftest("--alerts", "--json")
    assert (done.returncode, leg(done)) == (0, True), done.stderr
    assert "alerts of run_gone" in done.stderr
    assert "as declared" in done.stderr


def test_without_promtool_the_leg_stays_untried_and_is_no_success(tmp_path):
    done = selftest("--alerts", "--json", path=tmp_path)
    assert (done.returncode, leg(done)) == (3, None)
    assert "promtool is not installed" in done.stderr


def test_a_promtool_that_says_no_lets_the_check_down(tmp_path):
    tool = tmp_path / "promtool"
    tool.write_text("#!/bin/sh\necho no such alert >&2; exit 1\n")
    tool.chmod(0o755)
    done = selftest("--alerts", "--json", path=tmp_path)
    assert (done.returncode, leg(done)) == (1, False)
    assert "no such alert" in done.stderr


def test_nobody_asks_unless_told_to():
    assert leg(selftest("--json")) is None


def test_alerts_that_no_check_brings_are_tried_with_all_and_let_the_whole_down(tmp_path):
    tool, report = tmp_path / "promtool", tmp_path / "report.xml"
    no = 'grep -q PfidNotReady "$3" && echo not so >&2 && exit 1'
    tool.write_text(f'#!/bin/sh\n{no}\nexec {shutil.which("promtool")} "$@"\n')
    tool.chmod(0o755)
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pfid", "selftest", "--stage", "watch", "--alerts"),
            *("--json", "--junit", str(report)),
        ],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    data = json.loads(done.stdout)
    told = {a["alert"]: a for a in data["alerts"]}
    assert told["PfidDown"] == {"alert": "PfidDown", "worlds": 2, "ok": True, "problem": ""}
    assert [(a["alert"], a["problem"]) for a in told.values() if not a["ok"]] == [
        ("PfidNotReady", "not so")
    ]
    assert re.search(r"alert PfidGpuHeldIdle, \d+ worlds: as declared", done.stderr)
    assert "alert PfidNotReady, 2 worlds: FAILED: not so" in done.stderr
    assert [(q["of"], q["ok"]) for q in data["queries"]] == [
        ("recording rules", True),
        ("dashboard", True),
    ]
    (suite,) = ET.parse(report).getroot().findall("testsuite[@name='alerts']")
    assert (suite.get("tests"), suite.get("failures")) == (str(len(told)), "1")
