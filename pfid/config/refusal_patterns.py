"""A file of refusal patterns: TOML text to what the judging of answers reads."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from pfid.config.tables import build_table
from pfid.config.toml_file import toml_data
from pfid.domain.answer import LabelledAnswer, PatternFile, SeenPattern, Stance
from pfid.domain.errors import ConfigError

MAX_CHARS = 4_000
MAX_ANSWER_CHARS = 100_000


class _Pattern(msgspec.Struct, frozen=True, kw_only=True):
    pattern: Annotated[str, Meta(min_length=1, max_length=MAX_CHARS)]
    seen: Annotated[str, Meta(min_length=1, max_length=MAX_CHARS)]


class _Control(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    stance: Literal["hard", "deflect", "comply", "unclear"]
    text: Annotated[str, Meta(min_length=1, max_length=MAX_ANSWER_CHARS)]


class _File(msgspec.Struct, frozen=True, kw_only=True):
    language: Annotated[str, Meta(pattern="^[a-z]{2,3}$")]
    words: list[str] = field(default_factory=list)
    letters: list[Annotated[str, Meta(min_length=1, max_length=1)]] = field(default_factory=list)
    refusal: list[dict[str, str]] = field(default_factory=list)
    firm: list[dict[str, str]] = field(default_factory=list)
    redirect: list[dict[str, str]] = field(default_factory=list)
    answer: list[dict[str, str]] = field(default_factory=list)
    not_refusal: list[dict[str, str]] = field(default_factory=list)
    whole: list[dict[str, str]] = field(default_factory=list)
    doubt: list[dict[str, str]] = field(default_factory=list)
    controls: list[dict[str, str]] = field(default_factory=list)


def loads_patterns(text: str, name: str) -> PatternFile:
    """Read the text of a pattern file; whether it holds is another question.

    Args:
        text: TOML.
        name: of the file.

    Raises:
        ConfigError: with every problem found.
    """
    data = toml_data(text)
    problems: list[str] = []
    file = build_table(_File, data, "", problems)
    built = _built(file, name, problems) if isinstance(file, _File) else None
    if built is None or problems:
        raise ConfigError(tuple(problems))
    return built


def _built(file: _File, name: str, problems: list[str]) -> PatternFile:
    return PatternFile(
        name=name,
        language=file.language,
        refusal=_patterns(file.refusal, "refusal", problems),
        firm=_patterns(file.firm, "firm", problems),
        redirect=_patterns(file.redirect, "redirect", problems),
        answer=_patterns(file.answer, "answer", problems),
        not_refusal=_patterns(file.not_refusal, "not_refusal", problems),
        whole=_patterns(file.whole, "whole", problems),
        doubt=_patterns(file.doubt, "doubt", problems),
        words=frozenset(word.casefold() for word in file.words),
        letters=frozenset(file.letters),
        controls=_controls(file.controls, problems),
    )


def _patterns(
    entries: list[dict[str, str]], table: str, problems: list[str]
) -> tuple[SeenPattern, ...]:
    read = [
        build_table(_Pattern, entry, f"{table}[{n}]", problems) for n, entry in enumerate(entries)
    ]
    return tuple(SeenPattern(pattern=p.pattern, seen=p.seen) for p in read if p is not None)


def _controls(entries: list[dict[str, str]], problems: list[str]) -> tuple[LabelledAnswer, ...]:
    read = [
        build_table(_Control, entry, f"controls[{n}]", problems) for n, entry in enumerate(entries)
    ]
    return tuple(
        LabelledAnswer(name=c.name, stance=Stance(c.stance), text=c.text)
        for c in read
        if c is not None
    )
