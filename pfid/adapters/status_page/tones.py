"""Which outcome has which colour on the status page."""

from typing import Final

from pfid.domain.outcome import Outcome

TONES: Final = {Outcome.FAIL: "bad", Outcome.UNKNOWN: "wait", Outcome.PASS: "good"}
