"""What every test shares: which tests this machine can run, and where their files may lie."""

import importlib.util
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent / "nvml_shim"))  # what tests of many folders share

from nvml_shim import Shim

import pfid

ON_CI = os.environ.get("CI") == "true"
LEFT_OUT = 9
"""Exit status of a run that left tests out where none may be: trying again is no remedy."""
FIELD_CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"
"""Logs of other projects, not ours to copy; the one thing that may be missing even on CI."""


def _plugins_beside_pfid() -> None:
    """Where pfid is a source tree, its checks are those of the same tree, not installed ones."""
    folder = Path(pfid.__file__).parents[1] / "plugins"
    if not (folder / "__init__.py").is_file() or "pfid_plugins" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "pfid_plugins", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        return
    sys.modules["pfid_plugins"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


_plugins_beside_pfid()


def pytest_configure(config: pytest.Config) -> None:
    """Let what no test looks after lie where it goes with the session: the user keeps nothing.

    The folders may be entered by others, as the real ones may; pytest's own may not. Workers of
    xdist share those of the process that started them.
    """
    if "PFID_TEST_PLACE" in os.environ:
        return
    place = Path(tempfile.mkdtemp(prefix="pfid-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(place, ignore_errors=True))
    (place / "home").mkdir()
    (place / "tmp").mkdir()
    place.chmod(0o755)
    (place / "tmp").chmod(0o1777)
    pip = Path.home() / ".config" / "pip" / "pip.conf"
    if pip.is_file():  # from where packages come is the machine's matter
        os.environ.setdefault("PIP_CONFIG_FILE", str(pip))
    if config.option.basetemp is None:  # pytest's own folders stay where they are looked for
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    os.environ["PFID_TEST_PLACE"] = str(place)
    os.environ["HOME"] = str(place / "home")
    os.environ["TMPDIR"] = tempfile.tempdir = str(place / "tmp")


# No verdict may hang on how busy the machine is, and on CI none on luck.
settings.register_profile(
    "pfid", deadline=None, derandomize=ON_CI, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("pfid")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let no two workers collect in the same second: a test named by it would be two at once.

    xdist compares the names; by itself it would see such a one now and then.
    """
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    now_s, now_ns = time.time, time.time_ns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: now_s() - 2 * number)
        patch.setattr(time, "time_ns", lambda: now_ns() - 2 * number * 10**9)
        return (yield)


FIRST = (
    "tests/e2e/systemd",
    "tests/e2e/test_selftest_live.py",
    "tests/e2e/daemon/test_restarts.py",
    "tests/e2e/test_instrument.py",
    "tests/contract/viability/test_peak.py",
    "tests/e2e/daemon/test_gpus.py",
    "tests/contract/viability/test_prove_serving.py",
    "tests/e2e/test_probe_scaling.py",
    "tests/e2e/launching/test_run.py",
    "tests/e2e/monitoring/test_alerts_arrive.py",
    "tests/e2e/monitoring/test_every_panel.py",
    "tests/e2e/monitoring/test_fleet.py",
    "tests/e2e/test_judge.py",
    "tests/contract/cli/every",
    "tests/e2e/launching/test_terminal.py",
    "tests/e2e/daemon/test_deaths.py",
    "tests/contract/probes/test_mask_probe.py",
    "tests/contract/cli/test_preflight.py",
    "tests/contract/monitoring/test_own_alerts.py",
    "tests/e2e/test_first_line.py",
    "tests/e2e/test_demo.py",
)
"""Where tests run longest, longest first: begun last, one of them would keep one worker while all
others have nothing left. A folder is one worker's: its tests share what is dear to make."""


def _rank(nodeid: str) -> int:
    return next((i for i, place in enumerate(FIRST) if nodeid.startswith(place)), len(FIRST))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    ours = Path(__file__).resolve() == (config.rootpath / "tests" / "conftest.py").resolve()
    gone = [place for place in FIRST if not (config.rootpath / place).exists()]
    if gone and ours:
        raise pytest.UsageError(f"tests/conftest.py names what is not there: {', '.join(gone)}")
    items.sort(key=lambda item: _rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a file, or a folder named above, to one worker, in the order collected."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            rank = _rank(nodeid)
            return FIRST[rank] if rank < len(FIRST) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False  # by number of tests, which says little
    return ByFile(config, log)


def _missing(item: pytest.Item) -> list[str]:
    """Name what the test needs and this machine lacks."""
    missing = []
    if item.get_closest_marker("root") and os.geteuid() != 0:
        missing.append("root")
    for marker in item.iter_markers("needs"):
        missing += [program for program in marker.args if shutil.which(program) is None]
    return missing


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a test out where it cannot run, saying why; on CI that is a failure."""
    if item.get_closest_marker("field_cases") and not FIELD_CASES.is_dir():
        pytest.skip("no field cases beside this checkout")
    missing = _missing(item)
    if not missing:
        return
    message = f"needs {', '.join(missing)}"
    if ON_CI:
        pytest.fail(f"CI must not leave tests out: this one {message}", pytrace=False)
    pytest.skip(message)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name tests of bytes by their place: packed data carry the second at which they were made.

    Workers that collect a second apart must know the same tests by the same names.
    """
    return argname if isinstance(val, bytes) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Refuse tests of a set: each worker would take them in another order."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        if isinstance(mark.args[-1], set | frozenset):
            where = metafunc.definition.nodeid
            raise pytest.UsageError(f"{where} is parametrised by a set; give it an order")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name every test that was left out: pytest counts those of one reason together."""
    left_out = terminalreporter.stats.get("skipped", ())
    if left_out:
        terminalreporter.section(f"{len(left_out)} tests were left out")
    for report in sorted(left_out, key=lambda report: report.nodeid):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"LEFT OUT {report.nodeid}: {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """On CI a test left out fails the run, whoever left it out, and not as a test that failed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    left_out = reporter.stats.get("skipped", ()) if reporter is not None else ()
    if ON_CI and any("field_cases" not in report.keywords for report in left_out):
        session.exitstatus = LEFT_OUT


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the root of the source tree."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def documented(checkout: Path) -> Callable[[str], set[str]]:
    """Keys in the second cell of a row of the README's JSON shapes, by the row's first cell."""
    readme = (checkout / "README.md").read_text()
    shapes = readme.partition("## JSON shapes")[2].partition("\n## ")[0]

    def keys(what: str) -> set[str]:
        (row,) = [line for line in shapes.splitlines() if line.startswith(f"| {what} |")]
        cell = re.sub(r"\([^)]*\)", "", row.split("|")[2]).split(";")[0]
        return set(re.findall(r"`([a-z_0-9]+)`", cell))

    return keys


@pytest.fixture(autouse=True)
def _own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's state and from a daemon that happens to run."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("PFID_", "XDG_")) and not name.startswith("PFID_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("PYTEST_DEBUG_TEMPROOT", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PFID_SOCKET", str(home / "no-daemon.sock"))


@pytest.fixture
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shim:
    """A box with a stand-in for NVML, which every worker started from now on loads."""
    shim = Shim(tmp_path / "nvml")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(shim.folder))
    return shim
