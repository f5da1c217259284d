"""The chat template of a model's folder, as a digest: two of one name may say different things."""

import hashlib
import json
from pathlib import Path
from typing import Final

from pfid.formats.model_config.fields import ModelConfigError, parsed

MAX_BYTES: Final = 16 << 20
FILE, TOKENIZER = "chat_template.jinja", "tokenizer_config.json"


def template_digest(folder: Path) -> str:
    """``sha256:...`` of the template's text, "" where there is none to be read."""
    text = _read(folder / FILE)
    if text is None:
        text = _of_tokenizer(_read(folder / TOKENIZER))
    return f"sha256:{hashlib.sha256(text).hexdigest()}" if text else ""


def _of_tokenizer(text: bytes | None) -> bytes | None:
    try:
        template = parsed(text, TOKENIZER).get("chat_template") if text else None
    except ModelConfigError:
        return None
    if isinstance(template, list):  # several under names: all of them make the meaning
        template = json.dumps(template, sort_keys=True)
    return template.encode("utf-8", "surrogatepass") if isinstance(template, str) else None


def _read(path: Path) -> bytes | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None
