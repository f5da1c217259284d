"""Are breaks tried on the copy, wherever an installation or a path leads to the user's tree?"""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pfid.bootstrap.preflight.mutation import MutantCame, NoScratchError, mutate_project

pytestmark = pytest.mark.full
SPEC = """
[tests]
runner = "unittest"
[[mutations]]
file = "src/pkg/core.py"
old = "one | other"
new = "other"
test = "tests.test_core"
"""
TEST = """
    import unittest
    {head}
    from pkg.core import merge

    class T(unittest.TestCase):
        def test_it(self):
            print("flushed after the report of unittest")
            self.assertEqual(merge(1, 2), 3)
"""


@pytest.fixture
def project(repository, tmp_path):
    """A src layout, and an environment that nothing is installed in yet."""
    repository.write("src/pkg/__init__.py", "")
    repository.write("src/pkg/core.py", "def merge(one, other):\n    return one | other\n")
    repository.write("tests/__init__.py", "")
    write_test(repository, "")
    environment = tmp_path / "env"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=60
    )
    repository.environ = {n: v for n, v in repository.environ.items() if n != "PYTHONPATH"}
    repository.python = str(environment / "bin/python")
    (repository.site,) = environment.glob("lib/python*/site-packages")
    return repository


def write_test(repository, head):
    repository.write("tests/test_core.py", textwrap.dedent(TEST).replace("{head}", head))


def came(repository):
    repository.commit()
    (result,) = mutate_project(repository.project(SPEC, repository.python), lambda _: None)
    return result


def by_path_file(repository):
    (repository.site / "pkg.pth").write_text(f"{repository.folder / 'src'}\n")


FINDER = """
    import sys
    from importlib.util import spec_from_file_location

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "pkg":
                place = {place!r}
                return spec_from_file_location(
                    name, place + "/__init__.py", submodule_search_locations=[place]
                )

    sys.meta_path.append(Finder)
"""


def by_finder(repository):
    place = str(repository.folder / "src/pkg")
    (repository.site / "_editable.py").write_text(textwrap.dedent(FINDER).format(place=place))
    (repository.site / "pkg.pth").write_text("import _editable\n")


def by_variable(repository):
    repository.environ["PYTHONPATH"] = str(repository.folder / "src")


def by_relative_variable(repository):
    repository.environ["PYTHONPATH"] = "src"


def by_link(repository):
    link = repository.state / "link"
    link.symlink_to(repository.folder)
    (repository.site / "pkg.pth").write_text(f"{link / 'src'}\n")


def by_the_test_itself(repository):
    write_test(repository, f"import sys; sys.path.insert(0, {str(repository.folder / 'src')!r})")


def by_namespace(repository):
    (repository.folder / "src/pkg/__init__.py").unlink()
    by_the_test_itself(repository)


def in_a_process_of_its_own(repository):
    by_path_file(repository)
    text = """
        import subprocess, sys, unittest

        class T(unittest.TestCase):
            def test_it(self):
                code = "from pkg.core import merge; assert merge(1, 2) == 3"
                subprocess.run([sys.executable, "-c", code], check=True)
    """
    repository.write("tests/test_core.py", textwrap.dedent(text))


@pytest.mark.parametrize(
    "led",
    [
        by_path_file,
        by_finder,
        by_variable,
        by_relative_variable,
        by_link,
        by_the_test_itself,
        by_namespace,
        in_a_process_of_its_own,
    ],
)
def test_the_break_is_what_the_test_sees(project, led):
    led(project)
    result = came(project)
    assert (result.came, result.why) == (MutantCame.CAUGHT, "")
    assert "one | other" in (project.folder / "src/pkg/core.py").read_text()


def test_what_an_archive_would_leave_out_is_in_the_copy(project):
    by_path_file(project)
    project.write(".gitattributes", "tests export-ignore\n")
    (project.folder / "away").symlink_to("/nowhere/at/all")
    assert (came(project).came, project.git("status", "--porcelain")) == (MutantCame.CAUGHT, "")


def test_a_commit_that_is_too_large_to_be_copied_is_said_to_be(project, monkeypatch):
    monkeypatch.setattr("pfid.bootstrap.preflight.mutation.COPY_MAX_BYTES", 10)
    with pytest.raises(NoScratchError, match="too large"):
        came(project)


GATE = """
from train.core import merge

def pytest_sessionfinish(session):
    if {red}:
        session.exitstatus = 1
"""


@pytest.mark.parametrize(
    ("red", "came_of_it", "why"),
    [
        ("merge(1, 2) != 3", MutantCame.CAUGHT, ""),
        ("True", MutantCame.NOT_TRIED, "the runner ends red"),
    ],
    ids=["by the break", "always"],
)
def test_a_runner_that_ends_red_without_a_failed_test_has_noticed(repository, red, came_of_it, why):
    repository.write("tests/conftest.py", GATE.format(red=red))
    repository.write("tests/test_core.py", "def test_it():\n    pass\n")
    repository.commit()
    spec = SPEC.replace("src/pkg", "train").replace("tests.test_core", "tests/test_core.py")
    project = repository.project(spec.replace("unittest", "pytest"))
    (result,) = mutate_project(project, lambda _: None)
    assert result.came is came_of_it
    assert why in result.why


def test_a_copy_that_was_installed_is_named_and_nothing_is_said_of_the_test(project):
    installed = project.site / "pkg"
    installed.mkdir()
    for name in ("__init__.py", "core.py"):
        (installed / name).write_text((project.folder / "src/pkg" / name).read_text())
    result = came(project)
    assert result.came is MutantCame.NOT_TRIED
    assert f"it loads {installed / 'core.py'} in its place" in result.why


def test_a_test_that_never_loads_the_broken_file_lets_it_survive(project):
    text = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n"
    project.write("tests/test_core.py", text)
    result = came(project)
    assert result.came is MutantCame.SURVIVED
    assert "never loads core.py" in result.why


def test_a_failure_without_the_broken_file_shows_nothing(project):
    """It passes once and fails then: the break has no part in it."""
    mark = project.state / "mark"
    text = f"""
        import pathlib, unittest

        class T(unittest.TestCase):
            def test_it(self):
                mark = pathlib.Path({str(mark)!r})
                self.assertFalse(mark.exists())
                mark.touch()
    """
    project.write("tests/test_core.py", textwrap.dedent(text))
    result = came(project)
    assert result.came is MutantCame.NOT_TRIED
    assert "does not look at the broken file" in result.why


def test_the_environments_own_sitecustomize_runs_all_the_same(project):
    """Where Python itself has one (Debian's does), it is that one, not the environment's."""
    by_path_file(project)
    (project.site / "sitecustomize.py").write_text("import sys\nsys.own = 7\n")
    where = "import sitecustomize; print(sitecustomize.__file__)"
    own = subprocess.check_output([project.python, "-c", where], env=project.environ, text=True)
    write_test(project, f"import sitecustomize; assert sitecustomize.__file__ == {own.strip()!r}")
    assert came(project).came is MutantCame.CAUGHT


def test_the_shim_is_pythons_3_9_and_does_nothing_without_a_scratch_copy(tmp_path):
    from pfid.bootstrap.preflight.mutation import SITE

    done = subprocess.run(
        [sys.executable, "-c", "import sys; print(len(sys.meta_path), sys.path[1:2])"],
        env={"PYTHONPATH": str(SITE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert str(Path(SITE)) not in done.stdout
