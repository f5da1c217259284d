"""What a serving command says about itself: where it will listen, what it serves, which features.

Options are read as vLLM, SGLang, TGI and llama.cpp have them; what a wrapper hides is not seen.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from pfid.domain.serving import Shape

_PORTS: Final = {"sglang": 30000, "llama-server": 8080, "text-generation-launcher": 3000}
PORT_DEFAULT: Final = 8000
_ANYWHERE: Final = frozenset({"", "0.0.0.0", "::", "[::]"})  # noqa: S104 - what an engine binds
_ADAPTERS: Final = re.compile(r"lora|adapter", re.IGNORECASE)
_OFF: Final = re.compile(r"^(?:no|disable)[-_]")
_CONTAINERS: Final = frozenset({"docker", "podman", "nerdctl"})
_SHORT_DETACH: Final = re.compile(r"-[itPq]*d[itPqd]*$")
_SHORT_ALONE: Final = re.compile(r"-[itPq]+$")
_ALONE: Final = frozenset(
    {"--init", "--interactive", "--tty", "--rm", "--privileged", "--read-only", "--publish-all"}
    | {"--no-healthcheck", "--oom-kill-disable", "--quiet", "--replace"}
)
"""Options of a container that take no value."""
_NO_FEATURE: Final = frozenset(
    {
        *("host", "port", "model", "model-path", "model-id", "api-key", "download-dir", "m"),
        *("served-model-name", "tokenizer", "tokenizer-path", "revision", "uds"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCommand:
    """What it says.

    Attributes:
        url: where it will answer.
        shape: adapters if any option speaks of them, else merged weights.
        flags: options that name features, as they stand there.
        adapters: names of adapters that are given with it.
        api_key: that it will ask for; "" if none.
    """

    url: str
    shape: Shape
    flags: tuple[str, ...]
    adapters: tuple[str, ...]
    api_key: str


def read_engine_command(argv: Sequence[str]) -> EngineCommand:
    """Read it."""
    options = list(_options(argv))
    host, port = _last(options, "host"), _last(options, "port")
    adapted = any(_speaks_of_adapters(name, value) for name, value in options)
    place = "127.0.0.1" if host in _ANYWHERE else host
    place = f"[{place}]" if ":" in place and not place.startswith("[") else place
    return EngineCommand(
        url=f"http://{place}:{port if port.isdecimal() else _default_port(argv)}",
        shape=Shape.ADAPTER if adapted else Shape.MERGED,
        flags=tuple(
            f"--{name}={value}" if value else f"--{name}"
            for name, value in options
            if name not in _NO_FEATURE
        ),
        adapters=tuple(_adapters(argv)),
        api_key=_last(options, "api-key"),
    )


def is_detached(argv: Sequence[str]) -> bool:
    """Whether a container is asked for that goes on in the background, where nobody can end it."""
    names = [word.rpartition("/")[2] for word in argv]
    engine = next((n for n, name in enumerate(names) if name in _CONTAINERS), None)
    if engine is None or "run" not in names[engine:]:
        return False
    words = iter(argv[engine + names[engine:].index("run") + 1 :])
    for word in words:
        if not word.startswith("-"):
            return False  # the image: what follows is its command's
        if word in ("--detach", "--detach=true") or _SHORT_DETACH.match(word):
            return True
        if "=" not in word and word not in _ALONE and not _SHORT_ALONE.match(word):
            next(words, None)
    return False


def _speaks_of_adapters(name: str, value: str) -> bool:
    off = _OFF.search(name) is not None or value.lower() in ("false", "0", "no", "off")
    return _ADAPTERS.search(name) is not None and not off


def _options(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every long option with its value, "" where it has none."""
    for place, word in enumerate(argv):
        if not word.startswith("--") or word == "--":
            continue
        name, equals, value = word[2:].partition("=")
        following = argv[place + 1] if place + 1 < len(argv) else "-"
        if not equals and not following.startswith("-"):
            value = following
        yield name.replace("_", "-"), value


def _last(options: Sequence[tuple[str, str]], wanted: str) -> str:
    return next((value for name, value in reversed(options) if name == wanted), "")


def _default_port(argv: Sequence[str]) -> int:
    words = {part for word in argv[:4] for part in re.split(r"[/.]", word)}
    return next((port for name, port in _PORTS.items() if name in words), PORT_DEFAULT)


def _adapters(argv: Sequence[str]) -> Iterator[str]:
    """``--lora-modules sql=/path other=/path``: what stands before the sign is a name."""
    taking = False
    for word in argv:
        if word.startswith("--"):
            option, _, value = word.partition("=")
            taking = option in ("--lora-modules", "--lora-paths", "--lora_modules")
            word = value if taking else ""  # noqa: PLW2901 - its value may stand in the same word
        name, equals, _ = word.partition("=")
        if taking and equals and name:
            yield name


def is_url(text: str) -> bool:
    """Whether it names a server that speaks plain HTTP."""
    try:
        parts = urlsplit(text)
        return parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
