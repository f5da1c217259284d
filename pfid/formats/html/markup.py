"""Elements of HTML. Text is escaped where it enters; only an element is markup."""

from html import escape
from typing import Final

from pfid.formats.untrusted import printable

TEXT_CHARS: Final = 300
VOID: Final = frozenset({"meta", "link", "br"})


class Markup(str):
    """Text that is HTML already. Made by :func:`el` alone."""

    __slots__ = ()


Child = str | Markup | None


def el(tag: str, *children: Child, **attributes: str | None) -> Markup:
    """Return an element.

    Args:
        tag: its name, ours.
        children: text, which is escaped, or elements; None is left out.
        attributes: values are escaped; None leaves one out. ``class_`` is ``class``, a ``_``
            inside a name is a ``-``.
    """
    pairs = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value, quote=True)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in VOID:
        return Markup(f"<{tag}{pairs}>")
    return Markup(f"<{tag}{pairs}>{_inside(children)}</{tag}>")


def text(untrusted: str, limit: int = TEXT_CHARS) -> str:
    """Text of a run: nothing in it hides, turns round or fills the page."""
    return printable(untrusted, limit)


def document(title: str, style: str, *body: Child, refresh_s: int | None = None) -> str:
    """A whole page. ``style`` is ours; a policy that allows it by its digest allows nothing else.

    Args:
        title: of the window.
        style: CSS.
        body: of the page.
        refresh_s: how often the browser is to ask again; None for never.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        None if refresh_s is None else el("meta", http_equiv="refresh", content=str(refresh_s)),
        el("title", title),
        Markup(f"<style>{style}</style>"),
    )
    return "<!doctype html>\n" + el("html", head, el("body", *body), lang="en") + "\n"


def _inside(children: tuple[Child, ...]) -> str:
    return "".join(c if isinstance(c, Markup) else escape(c) for c in children if c is not None)
