"""Where a JSON line of an evaluation holds what."""

from typing import Annotated

from msgspec import Meta, field

from pfid.spec.result_gates.table import Table

Key = Annotated[str, Meta(min_length=1, max_length=500)]


class Fields(Table, frozen=True, kw_only=True):
    """Keys of a record. A dot goes one table deeper, a number takes that entry of a list.

    Empty: the records do not hold it.

    Attributes:
        item: which question; "#" numbers the lines.
        output: what came back.
        arm: of which arm, where one file holds both.
        family: kind of prompt.
        seed: of the sampler.
        repeat: which run over the same item and seed.
        prompt: what was asked; a list of messages is joined.
        reasoning: what was thought beside the output.
        reference: the known-good answer.
        output_tokens: length of the answer.
        cap_tokens: where it would have been cut off.
        finish_reason: of the engine.
        language: of the prompt.
        flags: a word, a list of words, or a table of booleans.
        scores: metric to key.
    """

    item: Key = "id"
    output: Key = "output"
    arm: str = ""
    family: str = ""
    seed: str = ""
    repeat: str = ""
    prompt: str = ""
    reasoning: str = ""
    reference: str = ""
    output_tokens: str = ""
    cap_tokens: str = ""
    finish_reason: str = ""
    language: str = ""
    flags: str = ""
    scores: dict[str, Key] = field(default_factory=dict)
