"""The page of a triage: as one object, as text, as one self-contained HTML file."""

from collections.abc import Sequence
from typing import Any, Final

from pfid import __version__
from pfid.analysis.triage_findings import Finding, Looked, answer_of, regime_of
from pfid.cli.output import Cell, facts, table
from pfid.cli.triage.ledger import Negatives
from pfid.formats.html import tables
from pfid.formats.html.markup import Child, Markup, document, el, text
from pfid.formats.html.style import STYLE

WORDS: Final = {
    Looked.FOUND: "found",
    Looked.NO_ANSWER: "no answer",
    Looked.FAILED: "could not look",
    Looked.NOT_ASKED: "not asked",
    Looked.NOT_REACHED: "not reached",
}
TONES: Final = {"found": "good", "no answer": "wait", "could not look": "bad"}
STYLES: Final = {"found": "green", "no answer": "yellow", "could not look": "red"}
NO_ANSWER: Final = "no answer: nothing that was looked at says where the time goes"


def page_json(title: str, findings: Sequence[Finding], negatives: Negatives) -> dict[str, Any]:
    """Everything as one object."""
    answer = answer_of(findings)
    regime, why = regime_of(findings)
    levers = answer.levers if answer is not None else ()
    return {
        "title": title,
        "answer": None if answer is None else answer.said,
        "stage": None if answer is None else answer.stage,
        "wrong": answer is not None and answer.wrong,
        "regime": None if regime is None else regime.value,
        "regime_from": why if regime is not None else None,
        "no_regime": why if regime is None else None,
        "levers": [{"lever": one.key, "text": one.text} for one in levers],
        "not_recommended": [
            {
                "lever": one.lever.key,
                "text": one.lever.text,
                "claim": one.negative.key,
                "because": one.negative.text,
            }
            for finding in findings
            for one in finding.dropped
        ],
        "already_running": [
            {"lever": one.key, "text": one.text} for finding in findings for one in finding.running
        ],
        "claims": {
            "file": None if negatives.file is None else str(negatives.file),
            "negatives": len(negatives.claims),
        },
        "stages": [
            {
                "stage": one.stage.value,
                "looked": WORDS[one.looked],
                "said": one.said,
                "figures": dict(one.figures),
            }
            for one in findings
        ],
    }


def print_page(data: dict[str, Any]) -> None:
    """Print it for people."""
    tone = "bold red" if data["wrong"] else "bold" if data["answer"] else "yellow"
    facts(
        [
            ("triage", data["title"]),
            ("answer", Cell(data["answer"] or NO_ANSWER, tone)),
            ("regime", _regime(data)),
            ("ledger", _ledger(data)),
        ]
    )
    table(
        ("stage", "looked", "said"),
        [
            [one["stage"], Cell(one["looked"], STYLES.get(one["looked"], "")), one["said"]]
            for one in data["stages"]
        ],
    )
    if data["levers"]:
        facts([(f"do {n}", one["text"]) for n, one in enumerate(data["levers"], 1)])
    for one in data["not_recommended"]:
        facts([(f"not {one['lever']}", f"measured negative {one['claim']}: {one['because']}")])


def _regime(data: dict[str, Any]) -> str:
    if data["regime"] is None:
        return f"none: {data['no_regime']}"
    return f"{data['regime'].replace('_', '-')}, by {data['regime_from']}"


def _ledger(data: dict[str, Any]) -> str:
    claims = data["claims"]
    if claims["file"] is None:
        return "none found: what was measured to be of no use is not known here"
    return f"{claims['file']}, {claims['negatives']} measured negatives"


def page_html(title: str, data: dict[str, Any]) -> str:
    """The same as one HTML file."""
    shown = text(title, 80)
    return document(
        f"pfid triage: {shown}",
        STYLE,
        el(
            "main",
            el("h1", shown),
            el("p", f"pfid triage {__version__}", class_="dim"),
            el("p", text(data["answer"] or NO_ANSWER), class_="alarm" if data["wrong"] else None),
            el("p", text(f"regime: {_regime(data)}")),
            el("p", text(f"ledger: {_ledger(data)}"), class_="dim"),
            *_levers(data),
            el("h2", "Stages, in their order"),
            tables.table(
                ("stage", "looked", "said"),
                [
                    (
                        one["stage"],
                        tables.tag(one["looked"], TONES.get(one["looked"], "")),
                        text(one["said"]),
                    )
                    for one in data["stages"]
                ],
            ),
        ),
    )


def _levers(data: dict[str, Any]) -> list[Child]:
    found: list[Child] = []
    if data["levers"]:
        found.append(el("h2", "Do next"))
        found.append(el("ol", *(el("li", text(one["text"])) for one in data["levers"])))
    if data["not_recommended"]:
        found.append(el("h2", "Not recommended: measured to be of no use"))
        found.append(el("ul", *(_dropped(one) for one in data["not_recommended"])))
    return found


def _dropped(one: dict[str, Any]) -> Markup:
    said = f"{one['text']}: {one['claim']}, {one['because']}"
    return el("li", text(said))
