"""Reason codes that belong to pfid's runner. No check may declare them.

A check that could say ``check_error`` itself could pass a control by crashing.
"""

from typing import Final

from pfid.domain.names import ReasonCode

CHECK_ERROR: Final = ReasonCode("check_error")
"""The check raised, or returned something that is not a verdict."""
PORT_UNREADABLE: Final = ReasonCode("port_unreadable")
"""A port of the world could not be read."""
UNDECLARED_REASON: Final = ReasonCode("undeclared_reason")
"""The check gave a reason it did not declare, or one that belongs to another outcome."""
OVERDUE: Final = ReasonCode("overdue")
"""The check was due and did not run."""
TIMED_OUT: Final = ReasonCode("timed_out")
"""The check ran past its deadline and was cut off."""
UNPROVEN: Final = ReasonCode("unproven")
"""The check's gate is not proven, so nothing it says counts."""
SETTLING: Final = ReasonCode("settling")
"""A failure was seen and is being confirmed; nothing had been settled before."""
RECORDS_INCOMPLETE: Final = ReasonCode("records_incomplete")
"""An evaluation was judged over other records than were declared."""

RUNNER_REASONS: Final = frozenset(
    {
        CHECK_ERROR,
        PORT_UNREADABLE,
        UNDECLARED_REASON,
        OVERDUE,
        TIMED_OUT,
        UNPROVEN,
        SETTLING,
        RECORDS_INCOMPLETE,
    }
)
