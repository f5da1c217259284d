"""One line of a log made plain: no terminal sequences, no rank label."""

import re
from typing import Final

_ANSI: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_LABEL: Final = re.compile(
    rb"\[\d+,(\d+)\]<std(?:out|err)>: ?"  # mpirun --tag-output
    rb"|\[[A-Za-z_]{0,12} ?(\d{1,6})\]: ?"  # torchrun, torch logging: [rank1]: [default0]:
    rb"|(\d{1,5}): {0,1}(?=\D)"  # srun --label
)
_LABEL_BEGINS: Final = frozenset(b"%c" % byte for byte in b"[0123456789")


def without_ansi(text: bytes) -> bytes:
    """Return ``text`` without colours and cursor moves."""
    return _ANSI.sub(b"", text) if b"\x1b" in text else text


def split_label(text: bytes) -> tuple[int | None, bytes]:
    """Cut a launcher's rank label off: its rank, None if there is none, and the rest."""
    if text[:1] not in _LABEL_BEGINS:
        return None, text
    found = _LABEL.match(text)
    if found is None:
        return None, text
    return int(found[1] or found[2] or found[3]), text[found.end() :]
