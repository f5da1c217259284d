"""Take the checks out of one plugin, whatever the plugin does (short of hanging or dying).

pluggy hands checks over and never runs them. One raising implementation aborts a pluggy call and
the others' results are lost, so implementations are called one by one, each in its own ``try``.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.machinery import SOURCE_SUFFIXES, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

import pluggy

from pfid.domain.errors import PluginError
from pfid.spec import hookspecs
from pfid.spec.check import AnyCheck, Check

MAX_CHECKS: Final = 200
"""More checks than this from one plugin are a runaway generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What one plugin gave: its checks, and what is wrong with it."""

    checks: tuple[AnyCheck, ...] = ()
    problems: tuple[str, ...] = ()


def collect(load: Callable[[], object], name: str) -> Collected:
    """Load a plugin and call each of its implementations of ``pfid_checks``.

    Args:
        load: imports it; may raise anything.
        name: what problems call it.
    """
    try:
        manager = _registered(load(), name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin raises is named
        return Collected(problems=(f"cannot be loaded: {_said(error)}",))
    implementations = manager.hook.pfid_checks.get_hookimpls()
    others = (
        manager.hook.pfid_gpu_samplers,
        manager.hook.pfid_notify,
        manager.hook.pfid_refusal_classifiers,
    )
    if not implementations and any(hook.get_hookimpls() for hook in others):
        return Collected()
    if not implementations:
        return Collected(problems=("implements no hook: decorate pfid_checks with @hookimpl",))
    checks: list[AnyCheck] = []
    problems = [p for impl in implementations for p in _called(impl.function, checks)]
    if not checks and not problems:
        problems.append("pfid_checks() yields no check")
    return Collected(checks=tuple(checks), problems=tuple(problems))


def _registered(plugin: object, name: str) -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name)
    manager.check_pending()  # a misspelt hook
    return manager


def _called(function: Callable[..., Any], checks: list[AnyCheck]) -> Iterator[str]:
    """Take what one implementation yields; say what is wrong with it."""
    try:
        for number, item in enumerate(function()):
            if number >= MAX_CHECKS:
                yield f"yields more than {MAX_CHECKS} checks"
                return
            if not isinstance(item, Check):
                yield f"yields {type(item).__name__}, not a Check"
                return
            checks.append(item)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin raises is named
        yield f"pfid_checks() raised: {_said(error)}"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


class _AsItIsWritten(SourceFileLoader):
    """Compiles a file each time: the bytecode beside it is known by second and size alone.

    A check that was edited within a second would be proven, and run, as it was before.
    """

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file as it is now; nothing is written beside it."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load_file(path: Path) -> ModuleType:
    """Import a plugin file by its location.

    It is registered in ``sys.modules`` first: a dataclass under postponed annotations looks its
    own module up there.

    Raises:
        PluginError: if there is nothing to import.
    """
    name = f"pfid_local_{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    loader = _AsItIsWritten(name, str(path)) if path.suffix in SOURCE_SUFFIXES else None
    spec = importlib.util.spec_from_loader(name, loader)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def source_digest(path: Path | None) -> str:
    """Return a digest of a check's source, "" where there is none to read."""
    try:
        return "" if path is None else sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
