"""Found by every Python of a run that was launched with ``pfid run --instrument``.

This folder stands first in ``PYTHONPATH``, so Python imports this file when it starts. It leaves
one finder behind, which waits for ``torch.optim.optimizer`` and has pfid's hooks put on the module
once it is loaded, and makes way: the folder leaves ``sys.path``, and the ``sitecustomize`` that
would have been found without it is imported in its place. torch is never imported from here.

Python 2.7 to 3.x must be able to read this file: the run may start any of them. No import here
costs anything: both modules are loaded already when it runs.
"""

import os
import sys

_HERE = os.path.dirname(__file__)
_AWAITED = "torch.optim.optimizer"
_PACKAGE = "_pfid_trainer"


class _Awaiting(object):
    """Finds nothing; leaves when the awaited module is asked for, and tells once it is loaded."""

    def __init__(self, awaited, then):
        self._awaited = awaited
        self._then = then

    def find_spec(self, name, path=None, target=None):
        """Return the others' spec of the awaited module, its loader wrapped; else None."""
        if name != self._awaited:
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)  # Python passes over what has none, too
            spec = None if find_spec is None else find_spec(name, path, target)
            if spec is not None:
                _try(self._wrap, spec.loader)
                return spec
        return None

    def _wrap(self, loader):
        """Let the loader load this one module as ever, and then tell."""
        load, then = loader.exec_module, self._then

        def load_and_tell(module):
            del loader.exec_module
            load(module)
            _try(then, module)

        _try(setattr, loader, "exec_module", load_and_tell)


def _when_loaded(name, then):
    """Call ``then`` with a module as soon as it is loaded; at once if it is."""
    if name in sys.modules:
        _try(then, sys.modules[name])
    else:
        sys.meta_path.insert(0, _Awaiting(name, then))


def _attach(module):
    """Load pfid's own modules under a name of their own and hand them the module."""
    from importlib import import_module, util

    folder = os.path.dirname(_HERE)
    init = os.path.join(folder, "__init__.py")
    spec = util.spec_from_file_location(_PACKAGE, init, submodule_search_locations=[folder])
    package = util.module_from_spec(spec)
    sys.modules[_PACKAGE] = package
    spec.loader.exec_module(package)
    import_module(_PACKAGE + ".torch_hooks").attach(module, _when_loaded)


def _try(call, *arguments):
    """Call; the program goes on as it would, whatever that meets."""
    try:
        call(*arguments)
    except Exception as error:
        _warn(error)


def _warn(error):
    try:
        sys.stderr.write("pfid: steps of this process are not reported: %r\n" % (error,))
    except Exception:
        return


def _make_way():
    """Import what ``sitecustomize`` would have been; how that fails is none of pfid's business."""
    # ``site`` has made every entry absolute, and ``__file__`` begins with the one it came from.
    sys.path[:] = [entry for entry in sys.path if entry != _HERE]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        missing = getattr(error, "name", "sitecustomize") == "sitecustomize"
        if not missing:
            raise
    finally:
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


if sys.version_info >= (3, 9) and os.environ.get("PFID_RUN_DIR"):
    _when_loaded(_AWAITED, _attach)
_make_way()
