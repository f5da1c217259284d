"""Calls of the runtime, found by the correlation that their device rows have too."""

import numpy as np

from pfid.analysis.kernel_calls import NESTED_NS, NOT_MADE, Calls


def calls(*blocks):
    found = Calls()
    for block in blocks:
        correlations, made_ns = zip(*block, strict=True) if block else ((), ())
        found.add(np.array(correlations, dtype=np.int64), np.array(made_ns, dtype=np.int64))
    return found


def test_a_call_is_found_by_its_correlation_in_whatever_block_it_stood():
    found = calls([(9, 90), (3, 30)], [], [(5, 50)])
    assert found.made(np.array([3, 5, 9, 4, 10])).tolist() == [30, 50, 90, NOT_MADE, NOT_MADE]
    assert len(found) == 3


def test_without_calls_none_is_found():
    assert calls().made(np.array([1])).tolist() == [NOT_MADE]
    assert calls().shared == 0


def test_a_correlation_of_two_calls_is_counted_unless_one_is_within_the_other_or_written_twice():
    assert calls([(1, 10), (2, 20)], [(2, 20)]).shared == 0
    assert calls([(1, 10), (2, 20)], [(2, 20 + NESTED_NS), (1, 10)]).shared == 0
    assert calls([(1, 10), (2, 20)], [(2, 21 + NESTED_NS), (1, 10)]).shared == 1
    assert calls([(1, 10), (2, 21 + NESTED_NS)], [(2, 20), (1, 10)]).shared == 1
