"""Which commit of pfid runs, where that can be told without asking git."""

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

import pfid
from pfid.workers.installed import told

SHOWN_DIGITS: Final = 12
UNKNOWN: Final = "unknown"
_COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")


@lru_cache(maxsize=1)
def revision() -> str:
    """The commit it was installed from, else that of the source tree it runs in."""
    return _installed() or of_tree(Path(pfid.__file__).resolve().parents[1]) or UNKNOWN


def running_version() -> str:
    """The version, and the commit behind it where that is known."""
    commit = revision()
    return pfid.__version__ + ("" if commit == UNKNOWN else f"+{commit[:SHOWN_DIGITS]}")


def _installed() -> str:
    """What the installer wrote down (PEP 610): only of an installation from a repository."""
    try:
        text = told("pfid", "direct_url.json") or "{}"
        said = json.loads(text).get("vcs_info", {}).get("commit_id", "")
    except (ValueError, AttributeError):
        return ""
    return _commit(said)


def of_tree(root: Path) -> str:
    """The commit that is checked out at ``root``, "" where that is no work tree."""
    try:
        git = _git_dir(root)
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        name = head.removeprefix("ref: ")
        return _commit(head) if name == head else _of_reference(git, name)
    except (OSError, ValueError):
        return ""


def _git_dir(root: Path) -> Path:
    """A linked work tree has a file in its place, which names it."""
    git = root / ".git"
    if not git.is_file():
        return git
    return root / git.read_text(encoding="utf-8").strip().removeprefix("gitdir: ")


def _of_reference(git: Path, name: str) -> str:
    common = git / "commondir"
    shared = git / common.read_text(encoding="utf-8").strip() if common.is_file() else git
    loose = shared / name
    if loose.is_file():
        return _commit(loose.read_text(encoding="utf-8").strip())
    for line in (shared / "packed-refs").read_text(encoding="utf-8").splitlines():
        commit, _, packed = line.partition(" ")
        if packed == name:
            return _commit(commit)
    return ""


def _commit(text: object) -> str:
    return text if isinstance(text, str) and _COMMIT.match(text) else ""
