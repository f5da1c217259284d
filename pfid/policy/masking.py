"""Secrets out of what is written down: a manifest travels with what it describes.

Two signs give a secret away: the name it is given under, and its own shape.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

MASK: Final = "[masked]"
CUT: Final = "…"
"""The end of text of which more was left out."""
_GOES_ON: Final = "A" * 64

_SECRET_WORDS: Final = frozenset(
    {
        *("secret", "secrets", "password", "passwd", "passphrase", "pwd", "apikey", "credential"),
        *("credentials", "authorization", "bearer", "cookie", "pat", "sas"),
    }
)
_SECRET_PAIRS: Final = frozenset(
    {
        *("api_key", "access_key", "account_key", "private_key", "secret_key", "encryption_key"),
        *("signing_key", "license_key", "auth_key", "ssh_key", "auth_header", "deploy_key"),
        *("wandb_key", "hf_key", "openai_key", "anthropic_key", "comet_key", "azure_key"),
    }
)
_SECRET_ENDS: Final = ("password", "passwd", "passphrase")
_PLACES: Final = frozenset(
    {
        *("prod", "production", "dev", "devel", "development", "stage", "staging", "test"),
        *("testing", "qa", "uat", "live", "sandbox", "ci", "local", "admin", "user", "ro", "rw"),
        *("read", "write", "readonly", "backup", "old", "value", "v", "secondary"),
    }
)
"""After ``token`` these say which key it is: of what place, of whom, for what."""
_OF_TEXT: Final = frozenset(
    {
        *("eos", "bos", "pad", "unk", "mask", "sep", "cls", "stop", "special", "image", "audio"),
        *("video", "max", "min", "new", "num", "per", "n", "tool", "first", "last", "prefix"),
        *("suffix", "middle", "begin", "end", "start", "extra", "ignore", "response", "loss"),
    }
)
"""Before ``token`` these speak of text, not of a key."""
_SHELL_TEXT: Final = re.compile(r"-[a-z]{0,4}c")
"""``sh -c``, ``bash -lc``: the next word is a text of many."""
_USERS: Final = frozenset({"-u", "--user", "--proxy-user"})
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_STEMS: Final = (
    *("token", "secret", "passw", "passphrase", "pwd", "key", "credential", "authorization"),
    *("bearer", "cookie", "pat=", "pat ", "pat:", 'pat"', "pat'", "sas", "sig", "login", "-u"),
)
"""One of these stands, in small letters, in everything that a name gives away."""
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
    | (?<=://)[^/\s:@'"]*:[^/\s'"]+(?=@) | (?<=://)[A-Za-z0-9_.-]{20,}(?=@)
    | (?<=-----BEGIN\ )[A-Z ]*PRIVATE\ KEY-----.*?(?:-----END|\Z)
    """
_MARKS: Final = (
    *("hf_", "api_org_", "sk-", "gh", "github_pat_", "glpat-", "AKIA", "ASIA", "AIza", "xox"),
    "nvapi-",
    *("wandb_v1_", "eyJ", "Bearer ", "Basic ", "://", "-----BEGIN "),
)
"""One of these stands in everything that has such a shape."""
_VALUE: Final = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"';&|<>()]+|["']\S*)+"""
_GIVEN: Final = r"""
    (?<![\w.-])-{1,2}(?P<option>[A-Za-z][\w.-]*)(?:=|[ \t]+(?!-))
    | (?<![\w.])(?P<name>[A-Za-z_][\w.-]*)=
    """
"""Before a value: ``NAME=``, ``--option=`` and ``--option ``, as a shell reads them."""
_QUOTED: Final = r"""
    (?P<before>(?P<q>\\{0,8}["'])(?P<name>[\w.-]+)(?P=q)\s*:\s*)
    (?P<value>(?P<v>\\{0,8}["']).*?(?P=v)|[^\s,}\]{["']+)
    """
"""A quoted name and its value, as in JSON or Python."""
_HEADER: Final = r"(?P<before>[{,]\s*)?(?<![\w.-])(?P<name>[A-Za-z][\w-]*):[ \t]*(?=[^\s/])"
_SCHEME: Final = r"(?:Bearer|Basic|Digest|Token|ApiKey)[ ]+"
_LOGIN: Final = r"""(?P<before>\bwandb\s+login\s+(?:--\S+\s+)*)(?P<value>[^\s;&|"'-][^\s;&|]*)"""
_USER: Final = r"""
    (?P<before>(?<!\S)(?:-u|--user|--proxy-user)[ =]["']?[^\s:/"']+:)(?P<value>[^\s"']+)
    """
_IN_URL: Final = r"""
    (?P<before>[?&](?:sig|key|signature|x-(?:amz|goog)-(?:signature|credential))=)
    (?P<value>[^&\s"'\#]+)
    """


def names_a_secret(name: str) -> bool:
    """Whether an option or variable of this name holds a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    pairs = {f"{first}_{second}" for first, second in pairwise(words)}
    if _SECRET_WORDS.intersection(words) or _SECRET_PAIRS & pairs:
        return True
    if any(word.endswith(_SECRET_ENDS) for word in words):  # pgpassword, dbpasswd
        return True
    while words and (words[-1].isdigit() or words[-1] in _PLACES):  # hf_token_2, api_token_prod
        words.pop()
    before = words[-2] if len(words) > 1 else ""
    return words[-1:] == ["token"] and before not in _OF_TEXT


def mask_text(text: str) -> str:
    """Mask what a name before it, or its own shape, gives away, wherever it stands.

    ``sh -c 'HF_TOKEN=x python'``, ``--env=HF_TOKEN=x``, ``{"api_key": "x"}``, ``X-Api-Key: x``,
    ``https://user:x@host``, ``curl -u user:x``.
    """
    lowered = text.lower()
    if any(stem in lowered for stem in _STEMS):
        text = _named(text)
    return _shapes().sub(MASK, text) if any(mark in text for mark in _MARKS) else text


def mask_shown(text: str) -> str:
    """Mask text that may have been cut off: what would be a secret if it went on is one."""
    if not text.endswith(CUT):
        return mask_text(text)
    for after in ("", "@host"):
        whole = mask_text(text.removesuffix(CUT) + _GOES_ON + after)
        if whole.endswith(MASK + after):
            return whole.removesuffix(after)
    return mask_text(text)


def _named(text: str) -> str:
    known = _names()
    text = known.quoted.sub(_if_secret, text)
    text = _given(_headers(text, known), known)
    for pattern in known.always:
        text = pattern.sub(rf"\g<before>{MASK}", text)
    return text


def _if_secret(found: re.Match[str]) -> str:
    """The quotes stay; null and its like are no secret."""
    quote = found["v"] or ""
    nothing = found["value"].strip("\\\"'") in {"", "null", "None", "true", "false"}
    if nothing or not names_a_secret(found["name"]):
        return found[0]
    return f"{found['before']}{quote}{MASK}{quote}"


def _headers(text: str, known: "_Names") -> str:
    """``X-Api-Key: value`` to the end of its line or quotes, ``{token:value}`` to the next comma.

    ``token:`` alone may be prose: no header is called that.
    """
    parts, at = [], 0
    for found in known.header.finditer(text):
        inside = found["before"] is not None
        alone = found["name"].lower() == "token" and not inside
        if found.start() < at or alone or not names_a_secret(found["name"]):
            continue
        begins = found.end()
        if (scheme := known.scheme.match(text, begins)) is not None:
            begins = scheme.end()
        ends = (known.item_ends if inside else known.line_ends).search(text, begins)
        parts += [text[at:begins], MASK]
        at = len(text) if ends is None else ends.start()
    return "".join((*parts, text[at:]))


def _given(text: str, known: "_Names") -> str:
    """Values of telling names; what stands in the value of another is looked at too."""
    parts, at = [], 0
    for found in known.given.finditer(text):
        if found.start() < at or not names_a_secret(found["option"] or found["name"]):
            continue
        value = known.value.match(text, found.end())
        if value is not None:
            parts += [text[at : found.end()], MASK]
            at = value.end()
    return "".join((*parts, text[at:]))


class _Names(NamedTuple):
    """Patterns of what a name gives away."""

    quoted: re.Pattern[str]
    header: re.Pattern[str]
    scheme: re.Pattern[str]
    line_ends: re.Pattern[str]
    item_ends: re.Pattern[str]
    given: re.Pattern[str]
    value: re.Pattern[str]
    always: tuple[re.Pattern[str], ...]


@cache
def _names() -> _Names:
    """Compiled when first needed."""
    return _Names(
        quoted=re.compile(_QUOTED, re.VERBOSE),
        header=re.compile(_HEADER),
        scheme=re.compile(_SCHEME, re.IGNORECASE),
        line_ends=re.compile(r"[\n\"']"),
        item_ends=re.compile(r"[,}\n\"']"),
        given=re.compile(_GIVEN, re.VERBOSE),
        value=re.compile(_VALUE),
        always=(
            re.compile(_LOGIN),
            re.compile(_USER, re.VERBOSE),
            re.compile(_IN_URL, re.VERBOSE | re.IGNORECASE),
        ),
    )


@cache
def _shapes() -> re.Pattern[str]:
    """Compiled when first needed: nearly nothing that is launched looks like a secret."""
    return re.compile(_SHAPES, re.VERBOSE | re.DOTALL)


def mask_argv(argv: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Mask the values of telling options and settings; the number of words that hold a mask.

    ``--hf-token X``, ``--hf-token=X``, ``hub.token=X``, ``HF_TOKEN=X`` and ``-H "Bearer X"``, and
    the same inside of a word, as in ``sh -c 'HF_TOKEN=X python train.py'``.
    """
    masked: list[str] = []
    for at, word in enumerate(argv):
        name, equals, value = word.partition("=")
        before = argv[at - 1] if at else ""
        if _takes_a_secret(before) and not word.startswith("--"):
            masked.append(MASK)
        elif _SHELL_TEXT.fullmatch(before):
            masked.append(mask_text(word))
        elif equals and value and _is_name(name) and names_a_secret(name):
            masked.append(f"{name}={MASK}")
        elif before in _USERS and ":" in word and "/" not in word:
            masked.append(f"{word.partition(':')[0]}:{MASK}")
        elif before == "login" and at > 1 and argv[at - 2].endswith("wandb") and word[:1] != "-":
            masked.append(MASK)
        else:
            masked.append(mask_text(word))
    return tuple(masked), sum(was != now for was, now in zip(argv, masked, strict=True))


def _takes_a_secret(word: str) -> bool:
    return word.startswith("-") and "=" not in word and " " not in word and names_a_secret(word)


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
