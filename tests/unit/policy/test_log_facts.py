"""Several logs of one run, taken together."""

from pfid.domain.inside import Inside
from pfid.policy.log_facts import together
from pfid.spec.ports.log import LogFacts, LossSeen, Marker, MarkerSeen


def test_no_log_is_no_facts():
    assert together([]) is None


def test_one_log_is_itself():
    facts = LogFacts(writers=2)
    assert together([facts]) is facts


def test_two_logs_of_one_writer_each_are_no_second_writer():
    both = together([LogFacts(writers=1, bytes_read=3), LogFacts(writers=1, bytes_read=4)])
    assert both is not None
    assert (both.writers, both.bytes_read) == (1, 7)


def test_markers_add_up_and_the_earliest_line_is_shown():
    late = MarkerSeen(count=1, first_line=9, first_at_s=20.0, last_at_s=21.0, line="late")
    early = MarkerSeen(
        count=2, first_line=3, first_at_s=10.0, last_at_s=12.0, line="early", quoted=1
    )
    quoted = MarkerSeen(count=0, first_line=1, quoted=5)
    both = together([LogFacts(markers={Marker.TRACEBACK: m}) for m in (quoted, late, early)])
    assert both is not None
    seen = both.markers[Marker.TRACEBACK]
    assert (seen.count, seen.quoted, seen.line, seen.last_at_s) == (3, 6, "early", 21.0)


def test_losses_told_twice_are_kept_once():
    losses = tuple(LossSeen(index=i, value=1.0) for i in range(3))
    both = together([LogFacts(losses=losses), LogFacts(losses=losses[:1])])
    assert both is not None
    assert both.losses == losses


def test_one_ranks_finite_losses_do_not_hide_anothers_nan():
    finite = tuple(LossSeen(index=i, value=1.0) for i in range(9))
    lost = tuple(LossSeen(index=i, value=float("nan")) for i in range(5))
    for parts in ([finite, lost], [lost, finite]):
        both = together([LogFacts(losses=losses) for losses in parts])
        assert both is not None
        assert both.losses == lost


def test_one_log_that_moved_means_moved():
    both = together([LogFacts(), LogFacts(moved=True)])
    assert both is not None
    assert both.moved is True


def test_what_ranks_say_from_inside_is_taken_together_and_a_log_says_nothing_of_it():
    first = Inside(asked=True, attached=1, reported=5, optimizers=("AdamW",), lost=1)
    second = Inside(
        reported=7,
        optimizers=("AdamW", "SGD"),
        lost=2,
        accounting="6ND",
        peak_flops_per_s=1e15,
        dynamo={"graphs": 3},
    )
    both = together([LogFacts(), LogFacts(inside=first), LogFacts(inside=second)])
    assert both is not None
    assert both.inside == Inside(
        asked=True,
        attached=1,
        reported=12,
        optimizers=("AdamW", "SGD"),
        lost=3,
        accounting="6ND",
        peak_flops_per_s=1e15,
        dynamo={"graphs": 3},
    )
    logs = together([LogFacts(), LogFacts()])
    assert logs is not None
    assert logs.inside is None
