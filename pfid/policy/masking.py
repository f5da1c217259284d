"""Secrets out of what is written down: a manifest travels with what it describes.

Two signs give a secret away: the name it is given under, and its own shape.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final

MASK: Final = "[masked]"

_SECRET_WORDS: Final = frozenset(
    {
        *("secret", "secrets", "password", "passwd", "passphrase", "pwd", "apikey", "credential"),
        *("credentials", "authorization", "bearer", "cookie", "pat", "sas"),
    }
)
_SECRET_PAIRS: Final = frozenset(
    {
        *("api_key", "access_key", "account_key", "private_key", "secret_key", "encryption_key"),
        *("signing_key", "license_key", "auth_key", "ssh_key", "auth_header"),
    }
)
_OF_TEXT: Final = frozenset(
    {
        *("eos", "bos", "pad", "unk", "mask", "sep", "cls", "stop", "special", "image", "audio"),
        *("video", "max", "min", "new", "num", "per", "n", "tool", "first", "last", "prefix"),
        *("suffix", "middle", "begin", "end", "start", "extra", "ignore", "response", "loss"),
    }
)
"""Before ``token`` these speak of text, not of a key."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHAPES: Final = r"""
    \bhf_[A-Za-z0-9]{20,} | \bapi_org_[A-Za-z0-9]{20,}
    | \bsk-[A-Za-z0-9_-]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{16,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{30,}
    | \bxox[abposr]-[A-Za-z0-9-]{10,}
    | \bnvapi-[A-Za-z0-9_-]{20,}
    | \bwandb_v1_[A-Za-z0-9_]{20,}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+
    | (?<=Bearer\ )[^\s'"]+ | (?<=Basic\ )[A-Za-z0-9+/=]{8,}
    | (?<=://)[^/\s:@]*:[^/\s@]+(?=@)
    | (?<=[?&]sig=)[^&\s]+ | (?<=[?&]token=)[^&\s]+
    """
_MARKS: Final = (
    *("hf_", "api_org_", "sk-", "gh", "github_pat_", "glpat-", "AKIA", "ASIA", "AIza", "xox"),
    "nvapi-",
    *("wandb_v1_", "eyJ", "Bearer ", "Basic ", "://", "sig=", "token="),
)
"""One of these stands in everything that has such a shape."""


def names_a_secret(name: str) -> bool:
    """Whether an option or variable of this name holds a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    pairs = {f"{first}_{second}" for first, second in pairwise(words)}
    if _SECRET_WORDS.intersection(words) or _SECRET_PAIRS & pairs:
        return True
    before = words[-2] if len(words) > 1 else ""
    return words[-1:] == ["token"] and before not in _OF_TEXT


def mask_text(text: str) -> str:
    """Mask what has the shape of a secret, wherever it stands."""
    return _shapes().sub(MASK, text) if any(mark in text for mark in _MARKS) else text


@cache
def _shapes() -> re.Pattern[str]:
    """Compiled when first needed: nearly nothing that is launched looks like a secret."""
    return re.compile(_SHAPES, re.VERBOSE)


def mask_argv(argv: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Mask the values of telling options and settings; the number of words that hold a mask.

    ``--hf-token X``, ``--hf-token=X``, ``hub.token=X``, ``HF_TOKEN=X`` and ``-H "Bearer X"``.
    """
    masked: list[str] = []
    next_is_secret = False
    for word in argv:
        name, equals, value = word.partition("=")
        if next_is_secret and not word.startswith("--"):
            masked.append(MASK)
        elif equals and value and _is_name(name) and names_a_secret(name):
            masked.append(f"{name}={MASK}")
        else:
            masked.append(mask_text(word))
        next_is_secret = word.startswith("-") and not equals and names_a_secret(word)
    return tuple(masked), sum(was != now for was, now in zip(argv, masked, strict=True))


def _is_name(text: str) -> bool:
    return re.fullmatch(r"[-+~]{0,2}[\w.@/-]+", text) is not None


def mask_value(value: Any, name: str = "") -> Any:
    """Mask anything that JSON can hold."""
    if isinstance(value, str):
        return MASK if value and names_a_secret(name) else mask_text(value)
    if isinstance(value, Mapping):
        return {key: mask_value(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_value(item, name) for item in value]
    return value
