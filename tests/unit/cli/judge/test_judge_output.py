"""Means of scores say what they are not over."""

from pfid.cli.judge.output import ScoreOfArm, scores_of
from pfid.spec.fakes_results import arm, record, result_facts


def test_a_mean_names_the_records_that_should_have_a_score_and_do_not():
    ours = arm(
        [
            record(i, family="a", scores={"f1": None if i < 3 else 0.5, "acc": None})
            for i in range(9)
        ]
        + [record(9, family="b", scores={"f1": None, "acc": None})]
    )
    base = arm([record(i, family="a", scores={"f1": 0.5, "acc": 1.0}) for i in range(9)], "base")
    assert scores_of(ours, result_facts(ours, base)) == {
        "acc": ScoreOfArm(mean=None, n=0, unscored=9),
        "f1": ScoreOfArm(mean=0.5, n=6, unscored=3),
    }
    assert scores_of(ours, result_facts(ours))["acc"] == ScoreOfArm(mean=None, n=0, unscored=0)
