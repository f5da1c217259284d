"""``pfid probe fit --run``: a prediction held against a run that pfid watched."""

import json

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main
from pfid.domain.snapshot import StepHistogram

POINTS = ",".join(f"{w}:{1e-3 * w + 1e-7 * w * w}" for w in (128, 512, 2_048))


@pytest.fixture
def fit(tmp_path, daemon, make):
    (tmp_path / "lengths.txt").write_text("1000\n" * 10)
    asked = ["probe", "fit", "--points", POINTS, "--lengths", str(tmp_path / "lengths.txt")]

    def run(histogram):
        view = make.run(histogram=histogram)
        daemon.snapshot = make.snapshot(runs=[view])
        return CliRunner().invoke(main, [*asked, "--batch", "2", "--run", "train", "--json"])

    return run


@pytest.mark.parametrize(("sum_s", "code"), [(11.0, 0), (22.0, 1)])
def test_the_runs_own_mean_step_agrees_or_does_not(fit, sum_s, code):
    result = fit(StepHistogram(counts=(0, 4, 6), sum_s=sum_s))
    assert result.exit_code == code, result.output
    observed = json.loads(result.stdout)["observed"]
    assert observed["seconds"] == pytest.approx(sum_s / 10)
    assert observed["source"] == "run train"
    assert observed["agrees"] is (code == 0)


def test_a_run_without_a_timed_step_is_nothing_to_hold_against(fit):
    result = fit(None)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no step of it has been timed" in result.stderr
