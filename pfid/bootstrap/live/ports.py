"""Which adapters stand behind what a check may read, and why some are driven by no drill.

A test holds this against the fields of a world and of the daemon's own ports: a new one without a
live drill, or a reason, is noticed.
"""

from collections.abc import Mapping
from typing import Final

PORT_ADAPTERS: Final[Mapping[str, frozenset[str]]] = {
    "run": frozenset({"pidfd", "process_table", "oom_counter"}),
    "steps": frozenset({"step_file", "log_reader", "store", "run_history"}),
    "log": frozenset({"log_reader", "file_identity", "process_facts"}),
    "gates": frozenset({"proof_book"}),
    "clock": frozenset({"clocks"}),
    "gpus": frozenset({"nvml"}),
}
"""Adapters behind each port that a watch check reads, by the name of what they read."""

DAEMON_ADAPTERS: Final[Mapping[str, str]] = {
    "clock": "clocks",
    "processes": "process_table",
    "deaths": "pidfd",
    "oom": "oom_counter",
    "store": "store",
    "reader": "log_reader",
}
"""The same by the name that the daemon's own ports have for them."""

NO_EVIDENCE: Final[Mapping[str, str]] = {
    "memory": "room for memory is shown; no check reads it",
    "replies": "it answers clients: every drill hears it",
    "notify": "it tells systemd, and nobody judges by that",
    "log": "pfid's own log",
}
"""Ports of the daemon that no verdict rests on, and why."""

UNDRILLED_STAGES: Final[Mapping[str, str]] = {
    "viability": "a model's files are judged as they lie; its readers are held by tests",
    "result": "an evaluation's records are judged as they lie; faults are planted into them there",
}
"""Stages whose ports no drill drives, and why."""

PLUGIN_PORTS: Final[Mapping[str, str]] = {"git": "git", "python": "python"}
"""Ports that only checks of others read, and the adapter behind each; drills of ours drive it."""
