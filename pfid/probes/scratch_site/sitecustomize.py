"""Found by every Python of a run of tests on a scratch copy of a project (`pfid preflight mutate`).

An editable installation, ``PYTHONPATH`` or a test's own ``sys.path`` may lead to the tree the copy
was made of: the tests would look at code that nobody broke. So every module that would be loaded
from that tree is loaded from the copy. And the broken file leaves a mark when it is run or read,
because a test that never loads it says nothing of it.

This folder stands first in ``PYTHONPATH``; it makes way for the ``sitecustomize`` that would have
been found without it.
"""

import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120 - nothing loaded in vain
_TREE = os.environ.get("PFID_SCRATCH_OF", "")
_COPY = os.environ.get("PFID_SCRATCH", "")
_WATCHED = os.environ.get("PFID_SCRATCH_WATCHED", "")
_MARKS = os.environ.get("PFID_SCRATCH_MARKS", "")


def _moved(path):
    """The same file or folder of the copy; the path itself where it is none of the tree's."""
    if not isinstance(path, str) or not path:
        return path
    real = os.path.realpath(path)
    if real != _TREE and not real.startswith(_TREE + os.sep):
        return path
    copy = _COPY + real[len(_TREE) :]
    return copy if os.path.exists(copy) else path  # noqa: PTH110 - as above


class _FromCopy:
    """Asks the finders behind it, and turns what they find to the copy."""

    def __init__(self):
        self._asking = set()

    def find_spec(self, name, path=None, target=None):
        if name in self._asking:
            return None
        self._asking.add(name)
        try:
            for finder in list(sys.meta_path):
                if finder is not self and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(name, path, target)
                    if spec is not None:
                        return _from_copy(spec)
        finally:
            self._asking.discard(name)
        return None


def _from_copy(spec):
    origin, places = _moved(spec.origin), spec.submodule_search_locations
    places = None if places is None else [_moved(place) for place in places]
    if origin != spec.origin:
        from importlib.util import spec_from_file_location

        return spec_from_file_location(spec.name, origin, submodule_search_locations=places)
    if spec.origin is None and places and places != list(spec.submodule_search_locations):
        from importlib.machinery import ModuleSpec

        moved = ModuleSpec(spec.name, None, is_package=True)
        moved.submodule_search_locations = places
        return moved
    return spec


def _watch():
    """Leave a mark once the broken file is run or read, or another of its name is run."""
    marked = set()
    folder, name = os.path.split(_WATCHED)
    tail = os.sep + os.path.basename(folder) + os.sep + name  # noqa: PTH119 - as above

    def hook(event, arguments):
        if event not in ("exec", "open") or not arguments:
            return
        path = getattr(arguments[0], "co_filename", None) if event == "exec" else arguments[0]
        if not isinstance(path, str) or not path.endswith(tail) or path in marked:
            return
        own = os.path.realpath(path) == _WATCHED
        if own or event == "exec":
            marked.add(path)
            line = ("own" if own else "other " + path) + "\n"
            opened = os.open(_MARKS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(opened, line.encode(errors="replace"))
            os.close(opened)

    sys.addaudithook(hook)


def _make_way():
    """Import what ``sitecustomize`` would have been; how that fails is its owner's business."""
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != _HERE]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


if _TREE and _COPY:
    sys.path[:] = [_moved(entry) for entry in sys.path]
    sys.meta_path.insert(0, _FromCopy())
    if _WATCHED and _MARKS:
        _watch()
_make_way()
