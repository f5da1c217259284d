"""The part of an output that a reader sees: without reasoning and without the chat template.

Engines hand both over as plain text when special tokens are not parsed, and a model that thinks
"I cannot do this ... but I may" has refused nothing.
"""

import re
from typing import Final

_NAMES: Final = r"think|thinking|thought|reasoning|seed:think"
_THOUGHT: Final = re.compile(
    rf"(?P<open><(?:{_NAMES})>|\[THINK\]|◁think▷|<\|(?:START_THINKING|begin_of_thought)\|>)"
    rf"|(?P<close></(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|(?:END_THINKING|end_of_thought)\|>)",
    re.IGNORECASE,
)
_ASSISTANT: Final = re.compile(
    r"<\|im_start\|>assistant\s?|<start_of_turn>model\s?|\[/INST\]|<\|assistant\|>|<\uff5cAssistant\uff5c>"
    r"|<\|start_header_id\|>assistant<\|end_header_id\|>|<\|CHATBOT_TOKEN\|>|<\|Assistant\|>"
)
_TURN_ENDS: Final = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|END_OF_TURN_TOKEN|end|return|user|im_start"
    r"|start_header_id)\|>|<(?:end|start)_of_turn>|</s>|\[INST\]|<\uff5cend▁of▁sentence\uff5c>|<\uff5cUser\uff5c>"
)
_CHANNEL: Final = re.compile(r"<\|channel\|>\s{0,9}([a-z]{1,20})")
_MESSAGE: Final = "<|message|>"
_STRIPPED_ANALYSIS: Final = re.compile(r"\s{0,9}analysis(?=[A-Z\"'(])")
_STRIPPED_FINAL: Final = "assistantfinal"


def visible(output: str) -> str:
    """Return what a reader of the answer sees; "" where it is reasoning alone.

    An opener without an end is reasoning to the last word: the cap came first. An end without an
    opener means that the template had opened it. Takes any text, in linear time.
    """
    if "<" not in output and "[" not in output and "◁" not in output:
        return _stripped_channels(output).strip()
    text = _channels(output) if "<|channel|>" in output else output
    return _own_turn(_without_thought(text)).strip()


def _stripped_channels(output: str) -> str:
    """Channels whose special tokens were dropped run into the words: ``analysisWe ...``."""
    if not _STRIPPED_ANALYSIS.match(output):
        return output
    return output.rpartition(_STRIPPED_FINAL)[2] if _STRIPPED_FINAL in output else ""


def _channels(text: str) -> str:
    """Only what was said in the final channel is said to the reader."""
    starts = [(m.start(), m[1]) for m in _CHANNEL.finditer(text)]
    if not starts or _MESSAGE not in text:
        return text  # it speaks of the token
    said = []
    ends = (*(start for start, _ in starts[1:]), len(text))
    for (start, name), end in zip(starts, ends, strict=True):
        begins = text.find(_MESSAGE, start, end)
        if name == "final" and begins >= 0:
            said.append(_TURN_ENDS.split(text[begins + len(_MESSAGE) : end], maxsplit=1)[0])
    return "\n".join(said)


def _without_thought(text: str) -> str:
    kept: list[str] = []
    at, inside, seen = 0, False, False
    for token in _THOUGHT.finditer(text):
        if text[token.start() - 1 : token.start()] == "`":
            continue  # an answer that speaks of the tag
        if token["open"]:
            if not inside:
                kept.append(text[at : token.start()])
            inside = seen = True
        elif inside:
            inside, at = False, token.end()
        elif not seen:
            seen, at = True, token.end()
    if not inside:
        kept.append(text[at:])
    return "".join(kept)


def _own_turn(text: str) -> str:
    begins = _ASSISTANT.search(text)
    if begins is not None:
        text = text[begins.end() :]
    return next((turn for turn in _TURN_ENDS.split(text) if turn.strip()), "")
