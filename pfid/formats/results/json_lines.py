"""A JSON line of one's own evaluation as a record, by the spec's fields."""

from dataclasses import dataclass
from typing import Any, Final

from pfid.formats.results.problems import RecordError
from pfid.formats.results.values import count, looked_up, score, shown, text, whole, words
from pfid.spec.ports.results import ResultRecord
from pfid.spec.record_fields import Fields

NUMBERED: Final = "#"
TEXTS: Final = ("family", "prompt", "reasoning", "reference", "finish_reason", "language", "arm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line.

    Attributes:
        data: that it holds.
        number: of the line, from 1.
        place: ``file:line``.
        run: how many files of the arm came before its own.
        family: of records that name none.
    """

    data: Any
    number: int
    place: str
    run: int = 0
    family: str = ""


def record_of(line: Line, fields: Fields) -> ResultRecord:
    """Return the record.

    Raises:
        RecordError: if it cannot be judged, saying why.
    """
    data = line.data
    if not isinstance(data, dict):
        raise RecordError("not_an_object", shown(data))
    texts = {name: _text(data, getattr(fields, name), name) for name in TEXTS}
    repeat = count(_found(data, fields.repeat), "repeat")
    return ResultRecord(
        item=_item(data, fields.item, line),
        arm=texts["arm"] or "",
        family=texts["family"] or line.family,
        seed=whole(_found(data, fields.seed), "seed"),
        repeat=line.run if repeat is None else repeat,
        prompt=texts["prompt"] or "",
        output=_output(data, fields.output),
        reasoning=texts["reasoning"] or "",
        reference=texts["reference"],
        output_tokens=count(_found(data, fields.output_tokens), "output_tokens"),
        cap_tokens=count(_found(data, fields.cap_tokens), "cap_tokens"),
        finish_reason=texts["finish_reason"],
        language=texts["language"],
        flags=words(_found(data, fields.flags), "flags"),
        scores={n: score(looked_up(data, key), n) for n, key in fields.scores.items()},
        place=line.place,
    )


def _found(data: Any, key: str) -> Any:
    return looked_up(data, key) if key else None


def _text(data: Any, key: str, what: str) -> str | None:
    value = _found(data, key)
    return None if value is None else text(value, what)


def _item(data: Any, key: str, line: Line) -> str:
    if key == NUMBERED:
        return str(line.number)
    value = looked_up(data, key)
    if value is None or (isinstance(value, str) and not value.strip()):
        raise RecordError("no_item", f"nothing stands under {key}")
    return text(value, "item")


def _output(data: Any, key: str) -> str:
    value = looked_up(data, key)
    if value is None:
        raise RecordError("no_output", f"nothing stands under {key}")
    return text(value, "output")
