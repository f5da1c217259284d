"""Whether a run that is over has a log in which no line is read as a step."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pfid.adapters.process_identity import machine_id
from pfid.adapters.run_records import RunRecords
from pfid.config.load import ConfigFile
from pfid.config.model import Config
from pfid.config.paths import config_file, user_state_dir
from pfid.domain.errors import PfidError
from pfid.formats.log_stream import LogParser
from pfid.wire.record import RunRecord

LOOKED_AT_BYTES: Final = 1 << 20
LINES_LEAST: Final = 20
"""A program that says less than this is none that counts steps."""
LASTED_S: Final = 5.0


def unread_log(record: RunRecord, environ: Mapping[str, str]) -> str | None:
    """The log, or None: it told steps, or too little, or they were reported from inside."""
    ended_s = record.end.at_s if record.end is not None else record.started_at_s
    if ended_s - record.started_at_s < LASTED_S or not record.logs:
        return None
    config = _config(environ)
    paths = [log.path for log in record.logs]
    if not all(_tells_no_step(Path(path), config) for path in paths):
        return None
    records = RunRecords(user_state_dir(environ, machine_id()))
    return None if records.reported_steps(record.run_id) else paths[0]


def _config(environ: Mapping[str, str]) -> Config:
    """That of the user's engines; a broken one was said elsewhere."""
    try:
        return ConfigFile(path=config_file(environ, embedded=True)).load()
    except PfidError:
        return Config()


def _tells_no_step(log: Path, config: Config) -> bool:
    """Whether it has lines, and none among the first of them is a step."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            text = file.read(LOOKED_AT_BYTES)
    except OSError:
        return False
    parser = LogParser(
        regex_dialects=config.dialects.regex,
        jsonl_keys={name: dict(keys) for name, keys in config.dialects.jsonl.items()},
    )
    told = bool(parser.feed(text)) or bool(parser.finish())
    return text.count(b"\n") >= LINES_LEAST and not told
