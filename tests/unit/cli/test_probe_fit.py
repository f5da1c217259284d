"""``pfid probe fit``: the playbook's figures, refusals, and what is said of what was observed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main

CASE = Path(__file__).resolve().parents[4] / "shared" / "cases" / "scaling-fit-does-not-close"
A, B = 6.873e-4, 8.847e-8
"""Within the digits the playbook prints (6.87e-4, 8.85e-8), where its three shares agree."""


def curve(*widths, c=0.0):
    return ",".join(f"{w}:{A * w + B * w * w + c!r}" for w in widths)


def run(*arguments, text=None):
    return CliRunner().invoke(main, ["probe", "fit", *map(str, arguments)], input=text)


def fitted(*arguments, code=0, text=None):
    result = run(*arguments, "--json", text=text)
    assert result.exit_code == code, result.output
    found = json.loads(result.stdout)
    assert found["schema"] == 1
    return found


def test_an_object_holds_what_the_readme_says(documented):
    found = fitted("--points", curve(512, 2_048, 8_192))
    assert found.keys() - {"schema"} == documented("`pfid probe fit`")


def test_the_playbooks_example_comes_out_to_the_digit():
    result = run("--points", curve(2_048, 4_096, 8_192, 16_384))
    assert result.exit_code == 0
    lines = {}
    for line in result.stdout.splitlines():
        lines.setdefault(line.split("  ")[0], line)
    assert "0.000687 " in lines["A"]
    assert "8.85e-08 " in lines["B"]
    assert "20.9%" in lines["2,048"]
    assert "51.3%" in lines["8,192"]
    assert "67.8%" in lines["16,384"]
    assert "mixed" in lines["regime"]
    assert "0.000129" in lines["B/A"]
    assert "0.001 " in lines["B/A"]


def test_two_points_are_refused_as_undetermined():
    found = fitted("--points", curve(2_048, 8_192), code=3)
    assert (found["closes"], found["closure"], found["regime"]) == (False, "undetermined", "none")
    assert found["a_s_per_token"] is None
    assert found["quadratic_share"] == {}
    assert "undetermined" in found["reason"]


@pytest.mark.field_cases
@pytest.mark.parametrize("column", ["flex_ms", "sdpa_ms"])
def test_a_public_benchmark_that_does_not_close_is_rejected(column):
    found = fitted("--points", CASE / "timings.tsv", "--column", column, code=3)
    assert not found["closes"]
    assert found["regime"] == "none"
    assert found["quadratic_share"] == {}
    assert found["b_over_a"] is None
    assert "add" in found["reason"]
    assert "restrict the range" in found["reason"]
    by_width = {r["width"]: r["relative"] for r in found["residuals"]}
    published = {"flex_ms": (-0.52, 0.36), "sdpa_ms": (-0.39, 0.24)}[column]
    assert min(by_width.values()) == pytest.approx(published[0], abs=0.01)
    assert max(by_width.values()) == pytest.approx(published[1], abs=0.01)
    if column == "flex_ms":
        assert found["a_s_per_token"] * 1e3 == pytest.approx(72.4, abs=0.1)
        assert found["b_s_per_token2"] * 1e3 == pytest.approx(-0.0092, abs=1e-4)


def test_a_launch_bound_step_is_named_with_its_lever():
    found = fitted("--points", "128:0.0101,512:0.0100,2048:0.0103")
    assert (found["regime"], found["closes"]) == ("launch_bound", False)
    assert "CUDA graphs" in found["lever"]


def test_a_step_that_gets_faster_with_its_width_has_no_regime():
    found = fitted("--points", "512:1.0,1024:0.8,2048:0.3", code=3)
    assert (found["regime"], found["regime_observed"]) == ("none", "none")
    assert "negative" in found["reason"]


def test_repeats_give_an_uncertainty():
    jittered = curve(512, 2_048, 8_192) + ",8192:11.7,2048:1.79"
    found = fitted("--points", jittered)
    assert found["a_error"] > 0
    assert found["quadratic_share_error"]["8192"] > 0


@pytest.fixture
def lengths(tmp_path):
    path = tmp_path / "lengths.json"
    path.write_text(json.dumps([400, 3_800] * 200 + [1_600] * 100))
    return path


def test_the_step_is_predicted_for_the_micro_batches_that_are_formed(lengths):
    asked = ("--points", curve(512, 2_048, 8_192), "--lengths", lengths, "--batch", 2)
    sizes = {
        order: fitted(*asked, "--order", order, "--accumulation", 8)["shapes"]
        for order in ("as_is", "shuffled", "sorted")
    }
    assert sizes["as_is"]["mean_width"] == pytest.approx(3_800 * 0.8 + 1_600 * 0.2)
    assert sizes["sorted"]["mean_width"] == pytest.approx(2_000)
    found = fitted(*asked, "--order", "sorted", "--accumulation", 8)
    shapes = found["shapes"]
    square = 400**2 * 0.4 + 3_800**2 * 0.4 + 1_600**2 * 0.2
    assert shapes["mean_square_width"] == pytest.approx(square)
    assert shapes["square_of_mean"] == pytest.approx(2_000**2)
    assert shapes["ratio"] == pytest.approx(square / 2_000**2)
    assert found["expected_seconds"] == pytest.approx(8 * (A * 2_000 + B * square))
    assert shapes["overstatement"] == pytest.approx(
        shapes["worst_share"] / shapes["quadratic_share"]
    )
    assert shapes["overstatement"] > 1


@pytest.mark.parametrize(("factor", "agrees", "code"), [(1.08, True, 0), (1.25, False, 1)])
def test_an_observed_step_on_either_side_of_the_tolerance(lengths, factor, agrees, code):
    asked = ("--points", curve(512, 2_048, 8_192), "--lengths", lengths, "--batch", 2)
    expected = fitted(*asked)["expected_seconds"]
    found = fitted(*asked, "--observed", expected * factor, code=code)
    assert found["observed"]["agrees"] is agrees
    assert found["observed"]["disagreement"] == pytest.approx(1 / factor - 1)
    text = run(*asked, "--observed", expected * factor).stdout
    assert ("trust nothing" in text) is not agrees


def test_an_observation_without_a_prediction_is_no_agreement():
    found = fitted("--points", curve(512, 2_048, 8_192), "--observed", 3)
    assert found["observed"]["agrees"] is None


def test_points_come_from_a_pipe_too():
    rows = [p.split(":") for p in curve(512, 2_048, 8_192).split(",")]
    text = "width,seconds\n" + "".join(f"{w},{t}\n" for w, t in rows)
    assert fitted("--points", "-", text=text)["closes"]


def test_what_pfid_printed_is_read_again(tmp_path):
    first = run("--points", curve(512, 2_048, 8_192), "--json").stdout
    (tmp_path / "fit.json").write_text(first)
    again = fitted("--points", tmp_path / "fit.json")
    assert again == json.loads(first)


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("--points", "512:x"), 2, "point 1: 'x' is no time above 0"),
        (("--points", "/nowhere/points"), 3, "/nowhere/points: cannot be read"),
        (("--points", "512:1,1024:2,2048:4", "--lengths", "l"), 2, "--batch is missing"),
        (("--points", "512:1", "--observed", "0"), 2, "0"),
        (("--points", "512:1", "--observed", "1", "--run", "x"), 2, "not both"),
        ((), 2, "--points"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(arguments, code, why):
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert why in result.stderr
    assert not result.stdout


def test_a_malformed_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("width,ms\n512,3\n1024,quick\n")
    result = run("--points", path)
    assert result.exit_code == 3
    assert "points.csv: line 3: 'quick' is no time" in result.stderr


@pytest.mark.parametrize("probe", ["fit", "lengths"])
def test_lengths_that_cannot_be_name_file_and_record(tmp_path, probe):
    path = tmp_path / "lengths.json"
    path.write_text("[5, 0, 7]")
    asked = ("--points", curve(512, 2_048, 8_192), "--lengths", path) if probe == "fit" else (path,)
    done = CliRunner().invoke(main, ["probe", probe, *map(str, asked), "--batch", "2"])
    assert done.exit_code == 3, done.output
    assert f"{path}: record 2: 0 is no number of tokens" in done.stderr


@pytest.mark.parametrize("again", ["0.151", "0.24"])
def test_noise_is_called_noise_and_no_fixed_cost(again):
    """Repeats that differed by 59 % were explained by a fixed cost."""
    points = f"512:0.15,512:{again},1024:0.25,2048:0.45,4096:0.85"
    said = json.loads(run("--points", points, "--json").stdout)
    noise = "does not close: repeats at width 512 differ by 60%"
    cost = "does not close: a fixed cost of 0.05 s is in every step"
    assert said["reason"].startswith(noise if again == "0.24" else cost)
