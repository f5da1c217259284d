"""Whatever stands in a step file, the reader goes on; it belongs to somebody else's program."""

import json

from hypothesis import given
from hypothesis import strategies as st

from pfid.wire.packed_facts import pack_facts, unpack_facts
from pfid.workers.steps_text import StepsText

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        *("step", "note", "seconds", "inside_s", "phase", "rank", "pid", "opt", "tokens"),
        *("real_tokens", "width", "flops", "recompute_flops", "loss", "clock", "lines", "kind"),
        *("interval_steps", "dynamo", "name", "peak_flops_per_s"),
    ]
)
NOTES = st.sampled_from(
    ["instrumented", "attached", "optimizer", "reporter", "given_up", "lost", "accounting", "phase"]
)
LINES = st.one_of(
    st.binary(max_size=40),
    st.dictionaries(NAMES, ANY, max_size=6).map(lambda d: json.dumps(d).encode()),
    st.builds(
        lambda note, more: json.dumps({**more, "note": note}).encode(),
        NOTES,
        st.dictionaries(NAMES, ANY, max_size=3),
    ),
    st.dictionaries(
        st.sampled_from(["graphs", "limit_hits", "frames"]), st.integers(-(2**70), 2**70)
    ).map(lambda d: json.dumps({"step": 1, "dynamo": d}).encode()),
)


@given(st.lists(LINES, max_size=8), st.integers(1, 50))
def test_no_line_ends_the_reading_and_chunks_do_not_matter(lines, cut):
    text = b"\n".join(lines) + b'\n{"step":7}\n'
    whole, parts = StepsText(), StepsText()
    events = whole.feed(text, 1.0)
    assert events[-1].index == 7
    told = [e for at in range(0, len(text), cut) for e in parts.feed(text[at : at + cut], 1.0)]
    assert [e.index for e in told] == [e.index for e in events]
    assert parts.facts() == whole.facts()
    told = unpack_facts(pack_facts(whole.facts()))
    assert told == whole.facts()
    assert StepsText.restore(whole.state(), told).facts() == told
    inside = whole.facts().inside
    assert inside.lost >= 0
    assert all(marker.count > 0 for marker in whole.facts().markers.values())
    assert all(n >= 0 for n in inside.dynamo.values())
