"""``pfid probe lengths``: the table, what is recommended, and every file that cannot be read."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pfid.cli.entry import main

CASE = Path(__file__).resolve().parents[4] / "shared" / "cases" / "padding-waste-real-lengths"


def run(*arguments, text=None):
    return CliRunner().invoke(main, ["probe", "lengths", *map(str, arguments)], input=text)


def found(*arguments, code=0, text=None):
    result = run(*arguments, "--json", text=text)
    assert result.exit_code == code, result.output
    body = json.loads(result.stdout)
    assert body["schema"] == 1
    return body


@pytest.fixture
def records(tmp_path):
    rng = np.random.default_rng(5)
    path = tmp_path / "records.jsonl"
    path.write_text(
        "".join(
            json.dumps({"length": int(n), "source": f"s{n % 5}", "text": "x"}) + "\n"
            for n in rng.lognormal(5, 1, 2_001).astype(int) + 1
        )
    )
    return path


def test_an_object_and_its_orders_hold_what_the_readme_says(documented, records):
    body = found(records, "--batch", 2, "--accumulation", 8, "--sweep")
    assert body.keys() - {"schema"} == documented("`pfid probe lengths`")
    for order in body["orders"]:
        assert order.keys() == documented("order of `pfid probe lengths`")
    designed = {"order", "bucket", "padding_waste", "zero_pad_share", "roots_per_window"}
    assert designed <= body["orders"][0].keys()
    assert {"n", "mean", "mean_of_squares", "ratio", "orders"} <= body.keys()


@pytest.mark.field_cases
@pytest.mark.parametrize(
    ("batch", "shuffled", "file_order", "tight"),
    [(2, 0.312, 0.316, 0.0017), (4, 0.478, 0.488, 0.0051), (8, 0.567, 0.574, 0.0122)],
)
def test_a_public_data_set_comes_out_with_its_published_figures(batch, shuffled, file_order, tight):
    body = found(CASE / "lengths.json", "--batch", batch)
    waste = {o["order"]: o["padding_waste"] for o in body["orders"] if o["bucket"] != 512}
    assert waste["as_is"] == pytest.approx(file_order, abs=0.0005)
    assert waste["sorted"] == pytest.approx(tight, abs=0.00005)
    assert waste["shuffled"] == pytest.approx(shuffled, abs=0.01)
    assert (body["n"], body["min"], body["max"]) == (999, 7, 444)
    assert round(body["mean"], 1) == 128.4
    assert round(body["ratio"], 2) == 1.67


def test_bucketing_is_recommended_with_the_gain_a_fit_predicts(records):
    asked = (records, "--batch", 2, "--accumulation", 8, "--fit", "6.87e-4,8.85e-8")
    advice = found(*asked)["recommendation"]
    assert (advice["change"], advice["order"], advice["bucket"]) == (True, "sorted", 2)
    assert advice["predicted_gain"] == pytest.approx(
        1 - advice["step_seconds_then"] / advice["step_seconds_now"]
    )
    assert 0.2 < advice["tokens_saved"] < advice["predicted_gain"] + 0.02
    text = run(*asked).stdout
    assert "PairedBucketSampler(lengths, 2)" in text
    assert f"{advice['predicted_gain']:.1%} of the predicted step time" in text
    assert "peak memory the same" in text


def test_a_fit_that_was_printed_is_used_and_one_that_does_not_close_is_not(records, tmp_path):
    points = ",".join(f"{w}:{6.87e-4 * w + 8.85e-8 * w * w}" for w in (64, 512, 4_096))
    printed = CliRunner().invoke(main, ["probe", "fit", "--points", points, "--json"]).stdout
    (tmp_path / "fit.json").write_text(printed)
    stated = found(records, "--batch", 2, "--fit", "6.87e-4,8.85e-8")
    read = found(records, "--batch", 2, "--fit", tmp_path / "fit.json")
    assert read["recommendation"]["predicted_gain"] == pytest.approx(
        stated["recommendation"]["predicted_gain"], rel=1e-6
    )
    (tmp_path / "two.txt").write_text("64:1\n512:2\n")
    result = run(records, "--batch", 2, "--fit", tmp_path / "two.txt", "--json")
    assert json.loads(result.stdout)["recommendation"]["predicted_gain"] is None
    assert "does not close" in result.stderr


def test_sources_are_those_of_the_records_or_of_a_file_beside(records, tmp_path):
    inside = found(records, "--batch", 2, "--accumulation", 4)
    assert all(o["roots_per_window"] > 1 for o in inside["orders"])
    (tmp_path / "one.txt").write_text("all\n" * 2_001)
    beside = found(records, "--batch", 2, "--accumulation", 4, "--sources", tmp_path / "one.txt")
    assert {o["roots_per_window"] for o in beside["orders"]} == {1.0}
    (tmp_path / "few.txt").write_text("all\n" * 3)
    result = run(records, "--batch", 2, "--sources", tmp_path / "few.txt")
    assert result.exit_code == 3
    assert "2001 lengths and 3 sources" in result.stderr


def test_a_batch_of_one_and_equal_lengths_have_nothing_to_win():
    text = "5\n5\n5\n5\n"
    assert not found("-", "--batch", 2, text=text)["recommendation"]["change"]
    assert "nothing to win" in run("-", "--batch", 2, text=text).stdout
    assert "micro-batch of one record" in run("-", "--batch", 1, text="5\n9\n").stdout


def test_the_loss_head_is_chunked_for_the_widest_micro_batch():
    asked = ("-", "--batch", 2, "--vocabulary", 262_144, "--budget", "2GiB")
    logits = found(*asked, text="16384\n5\n7\n")["logits"]
    assert (logits["peak_bytes"], logits["chunk_tokens"]) == (32 << 30, 2_048)
    assert "chunks of 2,048 tokens, 16" in run(*asked, text="16384\n5\n7\n").stdout
    assert "no chunks needed" in run(*asked, text="16\n5\n7\n").stdout


def test_truncation_is_the_trainers(records):
    body = found(records, "--batch", 2, "--max-length", 100)
    assert body["max"] == 100
    assert body["at_max"] > 500
    worst = {o["order"]: o["worst_batches"] for o in body["orders"] if o["bucket"] in (None, 2)}
    assert worst["sorted"] < worst["shuffled"]


@pytest.mark.parametrize(
    ("arguments", "text", "code", "why"),
    [
        (("/nowhere", "--batch", 2), None, 3, "/nowhere: cannot be read: No such file"),
        (("/tmp", "--batch", 2), None, 3, "/tmp: is a folder"),
        (("-", "--batch", 2), "", 3, "standard input: there is no number"),
        (("-", "--batch", 2), "3\n0\n", 3, "record 2: 0 is no number of tokens"),
        (("-", "--batch", 2), "3\n-4\n", 3, "record 2: -4 is no number of tokens"),
        (("-", "--batch", 2), "3\nx\n", 3, "standard input: line 2, record 2: 'x'"),
        (("-", "--batch", 0), "3\n", 2, "0"),
        (("-",), "3\n", 2, "--batch"),
        (("-", "--batch", 2, "--sources", "-"), "3\n", 2, "only one"),
        (("-", "--batch", 2, "--budget", "2GiB"), "3\n", 2, "needs --vocabulary"),
        (("-", "--batch", 2, "--vocabulary", 9, "--budget", "much"), "3\n", 2, "no size"),
        (("-", "--batch", 2, "--fit", "1,-1"), "3\n", 2, "not negative"),
        (("-", "--batch", 2, "--fit", "nan,1"), "3\n", 2, "not negative"),
        (("-", "--batch", 2, "--fit", "/nowhere"), "3\n", 3, "/nowhere: cannot be read"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(arguments, text, code, why):
    result = run(*arguments, text=text)
    assert result.exit_code == code, result.output
    assert why in result.stderr
    assert not result.stdout


def test_one_record_is_a_data_set_too():
    body = found("-", "--batch", 4, text="7")
    assert body["orders"][0]["padding_waste"] == 0


def test_a_narrow_terminal_and_a_pipe_show_the_same_rows(records, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert "zero-pad" in run(records, "--batch", 2).stdout
