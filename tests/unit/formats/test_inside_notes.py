"""What a step file says beside its steps."""

import json
from dataclasses import asdict

import msgspec
import pytest

from pfid.domain.inside import Inside
from pfid.domain.log_facts import Marker, MarkerSeen
from pfid.domain.step import Phase
from pfid.formats.steps_file import StepsFileParser, parse_line
from pfid.wire.packed_facts import pack_facts, unpack_facts
from pfid.workers.steps_text import StepsText


def lines(*entries):
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def parsed(*entries):
    parser = StepsFileParser()
    events = parser.feed(lines(*entries), at_s=100.0)
    return parser, events


def test_a_note_is_no_step_and_no_bad_line():
    parser, events = parsed({"note": "attached", "pid": 7}, {"note": "something newer", "x": [1]})
    assert not events
    assert parser.bad_lines == 0
    assert parser.notes.inside.attached == 1
    assert parse_line(b'{"note":"lost","step":3}') is None


def test_a_line_that_is_neither_is_bad():
    parser, _ = parsed({}, {"note": 3}, {"step": -1}, [1])
    assert parser.bad_lines == 4


def test_everything_a_reporter_says_of_a_step_arrives():
    _, (event,) = parsed(
        {
            "step": 7,
            "seconds": 0.5,
            "inside_s": 0.4,
            "tokens": 100,
            "real_tokens": 60,
            "flops": 1e12,
            "recompute_flops": 3e11,
            "rank": 2,
            "pid": 99,
            "opt": 1,
        }
    )
    assert event.writer == "steps/2/99.1"
    said = event.report
    assert (said.inside_s, said.real_tokens, said.flops, said.recompute_flops) == (
        0.4,
        60,
        1e12,
        3e11,
    )


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("torch.optim.adamw.AdamW", "AdamW"), ("mine.secret.Project", "custom"), (None, "custom")],
)
def test_only_torchs_own_optimizers_are_called_by_name(kind, shown):
    parser, _ = parsed({"note": "optimizer", "kind": kind, "opt": 0})
    assert parser.notes.inside.optimizers == (shown,)


def test_an_accounting_is_text_of_the_programs_own():
    parser, _ = parsed(
        {"note": "accounting", "name": "6ND\x1b[31m" + "x" * 999, "peak_flops_per_s": 1e15}
    )
    inside = parser.notes.inside
    assert "\x1b" not in inside.accounting
    assert len(inside.accounting) <= 160
    assert inside.peak_flops_per_s == 1e15


@pytest.mark.parametrize("peak", [0, -1, "x", None, []])
def test_a_peak_that_is_none_is_none(peak):
    parser, _ = parsed({"note": "accounting", "name": "6ND", "peak_flops_per_s": peak})
    assert parser.notes.inside.peak_flops_per_s is None
    assert parser.bad_lines == 0


def test_a_recompile_limit_told_by_the_counters_is_a_marker_like_one_in_a_log():
    parser, _ = parsed(
        {"step": 1},
        {"step": 2, "dynamo": {"graphs": 8, "frames": 9}},
        {"step": 3, "dynamo": {"limit_hits": 1}},
    )
    marker = parser.notes.markers[Marker.RECOMPILE_LIMIT]
    assert (marker.count, marker.first_line, marker.first_step) == (1, 3, 3)
    assert marker.first_at_s == 100.0
    assert parser.notes.inside.dynamo["graphs"] == 8
    assert parser.notes.inside.dynamo["limit_hits"] == 1


def test_a_step_file_knows_the_phase_the_program_is_in():
    text = StepsText()
    text.feed(lines({"step": 1}, {"note": "phase", "phase": "eval"}), 1.0)
    assert text.phase() is Phase.EVAL
    text.feed(lines({"note": "phase", "phase": "train"}, {"step": 2, "phase": "eval"}), 2.0)
    assert text.phase() is Phase.TRAIN


def test_a_parser_goes_on_from_its_state_through_msgpack():
    entries = (
        {"note": "instrumented"},
        {"note": "optimizer", "kind": "torch.optim.sgd.SGD"},
        {"step": 1, "loss": "nan", "dynamo": {"limit_hits": 2}},
    )
    text = StepsText()
    text.feed(lines(*entries) + b'{"step":', 1.0)
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(text.state()))
    on = StepsText.restore(state, unpack_facts(pack_facts(text.facts())))
    (event,) = on.feed(b"2}\n", 2.0)
    assert event.index == 2
    facts = on.facts()
    assert facts.inside.asked
    assert facts.inside.reported == 2
    assert facts.inside.optimizers == ("SGD",)
    assert facts.markers[Marker.RECOMPILE_LIMIT].count == 2
    assert (facts.bytes_read, on.phase()) == (text.facts().bytes_read + 3, Phase.TRAIN)


def test_a_state_of_an_older_pfid_is_taken_up():
    state = {"tail": b"", "skipping": False, "bad_lines": 2}
    assert StepsFileParser.restore(state).bad_lines == 2


def test_a_state_that_holds_its_facts_as_an_older_pfid_wrote_it_is_taken_up():
    inside = asdict(Inside(asked=True, reported=8, optimizers=("SGD",), dynamo={"graphs": 3}))
    limit = asdict(MarkerSeen(count=2, first_line=5, first_step=4))
    notes = {"inside": {**inside, "optimizers": ["SGD"]}, "limit": limit, "phase": None}
    parser = {"tail": b'{"st', "skipping": False, "lines": 9, "bad_lines": 0, "notes": notes}
    counted = {"begins_at": 7, "bytes_read": 99, "truncations": 1}
    on = StepsText.restore({**counted, "phase": "eval", "parser": parser}, None)
    assert on.phase() is Phase.EVAL
    (event,) = on.feed(b'ep":5}\n', 2.0)
    facts = on.facts()
    assert event.index == 5
    assert (facts.bytes_before_run, facts.bytes_read, facts.truncations) == (7, 106, 1)
    assert (facts.inside.reported, facts.inside.optimizers) == (9, ("SGD",))
    assert facts.inside.dynamo == {"graphs": 3}
    assert facts.markers[Marker.RECOMPILE_LIMIT] == MarkerSeen(**limit)


def test_a_state_is_refused_without_the_facts_that_were_told_with_it():
    with pytest.raises(ValueError, match="facts"):
        StepsText.restore(StepsText().state(), None)
