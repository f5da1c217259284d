"""``pfid judge``, files to verdicts: two arms, every bad input, pages, pipes, narrow windows."""

import json
import os
import random
import re
import stat
import subprocess
import sys

import pytest

WORDS = (
    "harbour",
    "master",
    "ledger",
    "evening",
    "lamps",
    "ships",
    "winter",
    "storms",
    "list",
    "a",
)
INSTRUMENT = (
    'instrument = { scorer = "exact 1", decoding = "t 0.8", max_tokens = 200, seat = "vllm bf16" }'
)
SPEC = f"""
name = "two arms"
[records.fields]
output = "response"
family = "kind"
seed = "seed"
finish_reason = "finish"
flags = "flags"
[records.fields.scores]
acc = "acc"
f1 = "f1"
[arms.candidate]
name = "tuned"
declared = 192
{INSTRUMENT}
[arms.baseline]
name = "base"
declared = 192
{INSTRUMENT}
"""
HOSTILE = "</title><script>alert(1)</script>\x1b[2J\u202e"


def records(seed, low, high, lost=0):
    draw = random.Random(seed)
    for i in range(192):
        yield {
            "id": f"q{i % 96}",
            "kind": "story" if i % 2 else "rp",
            "seed": i // 96,
            "response": " ".join(draw.choices(WORDS, k=draw.randint(low, high))) + ".",
            "finish": "length" if i < lost else "stop",
            "flags": [],
            "acc": float(draw.random() < 0.8),
            "f1": draw.random(),
        }


pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def judge(tmp_path, state):
    def run(*arguments, code=None, **environ):
        done = subprocess.run(
            [sys.executable, "-m", "pfid", "judge", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "XDG_STATE_HOME": str(state), "COLUMNS": "200", **environ},
            capture_output=True,
            text=True,
            check=False,
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def arms(tmp_path):
    (tmp_path / "GATES.toml").write_text(SPEC)
    ours = write(tmp_path / "ours.jsonl", records(1, 20, 60, lost=18))
    base = write(tmp_path / "base.jsonl", records(2, 30, 80, lost=1))
    return ours, base


def verdicts(done):
    body = json.loads(done.stdout)
    assert body["schema"] == 1
    return body, {v["check"]: v for v in body["verdicts"]}


def test_the_run_before_is_looked_up_before_anything_is_called_new(judge, arms, tmp_path):
    ours, base = arms
    body, said = verdicts(judge(ours, "--baseline", base, "--json", code=1))
    assert body["previous"] is None
    assert said["exclusions_balanced"]["reason"] == "lopsided"
    assert said["records_complete"]["outcome"] == "pass"
    assert all(v["cannot_see"] for v in said.values())
    assert body["candidate"]["scores"]["acc"]["n"] == 192
    assert body["candidate"]["scores"]["acc"]["unscored"] == 0
    again = write(tmp_path / "again.jsonl", records(3, 20, 60, lost=17))
    body, said = verdicts(judge(again, "--baseline", base, "--json", code=1))
    assert body["previous"]["records"] == 192
    assert said["exclusions_balanced"]["reason"] == "lopsided_again"


def test_judged_over_fewer_records_nothing_counts_and_every_bad_one_is_shown(judge, arms):
    ours, base = arms
    lines = ours.read_bytes().splitlines(keepends=True)
    lines[4] = b"\xff\xfe{\n"
    lines[7] = lines[6]
    ours.write_bytes(b"".join(lines))
    body, said = verdicts(judge(ours, "--baseline", base, "--json", code=3))
    assert body["candidate"]["records"] == 190
    assert body["not_kept"] == "it is over other records than were declared"
    assert {(b["place"], b["reason"]) for b in body["candidate"]["bad_records"]} == {
        ("ours.jsonl:5", "not_utf8"),
        ("ours.jsonl:8", "duplicate"),
    }
    assert said["collapse"]["outcome"] == "unknown"
    assert said["collapse"]["reason"] == "records_incomplete"
    assert said["exclusions_balanced"]["reason"] == "records_incomplete"
    assert not {v["outcome"] for v in said.values()} & {"pass", "fail"}
    shown = judge(ours, "--baseline", base, code=3).stdout
    assert "ours.jsonl:5: not_utf8" in shown
    assert "190 records of 192, 2 bad" in shown


def test_one_file_holds_both_arms_and_a_stranger_is_bad(judge, tmp_path):
    spec = SPEC.replace("[records.fields]", '[records.fields]\narm = "model"')
    (tmp_path / "GATES.toml").write_text(spec)
    rows = [{**r, "model": "tuned"} for r in records(1, 20, 60)]
    rows += [{**r, "model": "base"} for r in records(2, 30, 80)]
    path = write(tmp_path / "both.jsonl", rows)
    body, _ = verdicts(judge(path, "--json"))
    assert body["candidate"]["records"] == body["baseline"]["records"] == 192
    write(path, [*rows, {**rows[0], "model": "tunde"}])
    body, said = verdicts(judge(path, "--json", code=1))
    assert body["candidate"]["bad_records"][0]["reason"] == "arm_unknown"
    assert said["records_complete"]["reason"] == "records_too_many"


def test_a_spec_is_written_for_records_and_judges_them(judge, arms, tmp_path):
    ours, base = arms
    (tmp_path / "GATES.toml").unlink()
    wrote = judge("--init", ours, code=0)
    assert "192 records, 0 bad" in wrote.stderr
    assert 'output = "response"' in (tmp_path / "GATES.toml").read_text()
    body, said = verdicts(judge(ours, "--json"))
    assert body["candidate"]["seeds"] == [0, 1]
    assert said["records_complete"]["outcome"] == "pass"
    assert "is there already" in judge("--init", ours, code=2).stderr
    assert base.exists()


def test_the_page_is_whole_strict_and_escaped(judge, arms, tmp_path):
    ours, base = arms
    rows = [json.loads(line) for line in ours.read_text().splitlines()]
    rows[0] |= {"kind": HOSTILE, "id": HOSTILE}
    write(ours, [*rows, rows[0]])
    out = tmp_path / "page.html"
    judge(ours, "--baseline", base, "--html", out)
    page = out.read_text()
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert not re.search(r'src="|href="(?!#)|url\((?!#)|http-equiv', page)
    assert "prefers-color-scheme" in page
    for heading in ("Verdicts", "Lengths", "Scores", "Intervals", "Bad records"):
        assert f"<h2>{heading}</h2>" in page
    assert page.count('class="plot"') >= 4
    assert judge(ours, "--html", tmp_path / "no" / "where.html", code=2).stderr.count("pfid:") == 1


def test_forty_columns_no_colour_and_a_pipe(judge, arms):
    ours, base = arms
    shown = judge(ours, "--baseline", base, COLUMNS="40", NO_COLOR="1").stdout
    assert "\x1b" not in shown
    assert "exclusions_balanced" in shown
    assert "What these verdicts cannot see:" in shown
    lost, compared = shown.index("exclusions_balanced"), shown.index("MEAN SCORE")
    assert lost < compared, "what was lost is said before anything is compared"


@pytest.mark.parametrize(
    ("body", "code"), [(b"", 3), (b"\n\n", 3), (b"\x00\x01\x02", 3), (b"{", 3), (b"[", 3)]
)
def test_what_holds_no_record_is_unknown_and_never_fine(judge, arms, tmp_path, body, code):
    (tmp_path / "r.jsonl").write_bytes(body)
    assert arms
    judge("r.jsonl", "--json", code=code)


def test_usage_and_a_spec_that_is_none_are_told_apart_from_a_failure(judge, arms, tmp_path):
    ours, _ = arms
    judge("nowhere.jsonl", code=2)
    judge(code=2)
    (tmp_path / "GATES.toml").write_text("[gates.colapse]\n")
    assert "did you mean 'collapse'" in judge(ours, code=2).stderr
    (tmp_path / "GATES.toml").write_text('optional = ["nothing"]\n' + SPEC)
    assert "there is no check nothing" in judge(ours, code=2).stderr
    (tmp_path / "GATES.toml").write_text(SPEC + "[limits.collapse]\nnothing = 1\n[limits.no]\n")
    said = judge(ours, code=2).stderr
    assert "limits.collapse.nothing: no such limit; it has: " in said
    assert "limits.no: there is no such check" in said
