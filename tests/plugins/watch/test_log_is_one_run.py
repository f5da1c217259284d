"""Does the log describe one run?"""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.log_is_one_run import judge, observe

from pfid.domain.log_facts import LogFacts
from pfid.domain.outcome import Outcome
from pfid.spec import World
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog
from pfid.spec.limits import NoLimits

CLEAN = LogFacts(bytes_read=4096)


def said(facts):
    world = World(subject=CONTROL_SUBJECT, log=FixedLog(log_facts=facts))
    return judge(observe(world), NoLimits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, "one_run"),
        ({"resumes": 3}, "one_run"),
        ({"truncations": 2, "nul_prefix_bytes": 1 << 20}, "one_run"),
        ({"bytes_before_run": 1}, "older_bytes"),
        ({"rewinds": 1}, "counter_went_back"),
        ({"rewinds": 1, "resumes": 5}, "counter_went_back"),
        ({"writers": 2}, "two_writers"),
        ({"writers": 0}, "one_run"),
        ({"moved": True}, "log_moved"),
        ({"moved": True, "writers": 2}, "two_writers"),
        ({"bytes_read": 0}, "nothing_written"),
        ({"bytes_read": 0, "bytes_before_run": 9}, "older_bytes"),
        ({"bytes_read": 0, "moved": True}, "log_moved"),
    ],
    ids=str,
)
def test_each_sign_is_named(facts, reason):
    assert said(dataclasses.replace(CLEAN, **facts)).reason == reason


def test_no_log_is_unknown():
    assert said(None).outcome is Outcome.UNKNOWN


def test_it_says_how_many_bytes_and_writers():
    verdict = said(dataclasses.replace(CLEAN, bytes_before_run=77, writers=2))
    assert (verdict.figures["older"].value, verdict.figures["older"].unit) == (77, "bytes")
    assert verdict.figures["writers"].value == 2


counts = st.integers(0, 3)
facts = st.builds(
    LogFacts,
    bytes_before_run=counts,
    bytes_read=counts,
    truncations=counts,
    moved=st.booleans(),
    writers=st.integers(1, 3),
    rewinds=counts,
    resumes=counts,
)


@given(seen=facts, more=facts)
def test_more_evidence_never_hides_a_second_run(seen, more):
    both = LogFacts(
        bytes_before_run=seen.bytes_before_run + more.bytes_before_run,
        bytes_read=seen.bytes_read + more.bytes_read,
        truncations=seen.truncations + more.truncations,
        moved=seen.moved or more.moved,
        writers=max(seen.writers, more.writers),
        rewinds=seen.rewinds + more.rewinds,
        resumes=seen.resumes + more.resumes,
    )
    if said(seen).outcome is Outcome.FAIL:
        assert said(both).outcome is Outcome.FAIL
