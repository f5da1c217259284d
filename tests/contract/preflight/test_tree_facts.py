"""Is a real repository seen as it is, and are imports of what git does not track found?"""

import pytest

from pfid.bootstrap.preflight.imports import READ_MAX_BYTES
from pfid.bootstrap.preflight.tree import tree_facts


def imported(repository):
    return tree_facts(repository.project()).imported


def test_an_untracked_file_that_tracked_code_imports_is_found(repository):
    repository.write("train/run.py", "from train import masks\nimport json\n")
    repository.commit()
    repository.write("train/masks.py", "import deeper.still\n")
    repository.write("deeper/still.py", "")
    repository.write("notes.py", "")
    assert imported(repository) == ("deeper/still.py", "train/masks.py")


def test_every_way_to_import_is_seen(repository):
    repository.write(
        "run.py", "import a.b\nfrom .c import x\ndef f():\n    from train.d import y\nimport pack\n"
    )
    repository.commit()
    for name in ("a/b.py", "c.py", "train/d.py", "pack/__init__.py", "unused.py"):
        repository.write(name, "")
    assert imported(repository) == ("a/b.py", "c.py", "pack/__init__.py", "train/d.py")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import importlib\nimportlib.import_module('a.there')\n", ("a/there.py",)),
        ("from importlib import import_module as m, import_module\nimport_module('a.there')\n",
         ("a/there.py",)),
        ("__import__('a.there')\n", ("a/there.py",)),
        ("x = import_module(name='.there', package='a')\n", ("a/there.py",)),
        ("import_module('.there', __package__)\n", ("b/there.py",)),
        ("import_module(f'a.{x}')\nimport_module()\n__import__(3)\n", ()),
        ("from .there import x\n", ("b/there.py",)),
        ("from . import there\n", ("b/there.py",)),
        ("from ..a.there import x\n", ("a/there.py",)),
        ("from .....there import x\n", ("a/there.py", "b/there.py")),
    ],
)  # fmt: skip
def test_a_name_that_is_written_out_and_a_relative_one_mean_one_file(repository, text, found):
    repository.write("b/run.py", text)
    repository.commit()
    for name in ("a/there.py", "b/there.py"):
        repository.write(name, "")
    assert imported(repository) == found


def test_code_that_cannot_be_parsed_and_names_no_untracked_file_imports_none(repository):
    repository.write("broken.py", "def (:\n")
    (repository.folder / "nul.py").write_bytes(b"\0\0")
    repository.write("run.py", "import there\n")
    repository.commit()
    repository.write("there.py", "")
    assert imported(repository) == ("there.py",)
    repository.write("run.py", "import elsewhere\n")
    assert imported(repository) == ()


NEWER = "type Rows = list[int] # of Python 3.99\nfn {\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (NEWER + "    import there\n", ("there.py",)),
        (NEWER + "from . import there\n", ("there.py",)),
        (NEWER + "if 1: import there\n", None),
        (NEWER + "from train import (\n    there,\n)\n", None),
        (NEWER + "import theres\n", ()),
        (f"import there\n#{'x' * 2_100_000}\n", ("there.py",)),
        (f"pass; import there\n#{'x' * 2_100_000}\n", None),
    ],
    ids=["own line", "from", "behind a condition", "over lines", "other", "long", "long, hidden"],
)
def test_what_code_of_a_newer_python_may_import_is_never_taken_for_nothing(repository, text, found):
    repository.write("run.py", text)
    repository.commit()
    repository.write("there.py", "")
    facts = tree_facts(repository.project())
    assert facts.imported == found
    assert facts.unclear == (("run.py",) if found is None else ())


def test_code_that_cannot_be_read_leaves_open_what_it_imports(repository):
    repository.write("other.py", "import there\n")
    (repository.folder / "run.py").symlink_to("run.py")
    repository.commit()
    assert imported(repository) == ()  # nothing is untracked
    repository.write("new.py", "")
    facts = tree_facts(repository.project())
    assert (facts.imported, facts.unclear) == (None, ("run.py",))
    repository.write("there.py", "")
    assert imported(repository) == ("there.py",)


def test_code_that_is_too_long_to_be_read_leaves_it_open(repository):
    path = repository.write("run.py", "")
    repository.commit()
    with path.open("wb") as file:
        file.truncate(READ_MAX_BYTES + 1)
    repository.write("there.py", "")
    assert imported(repository) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#!/usr/bin/env python3\nimport there\n", ("there.py",)),
        (f"#!/usr/bin/env python3\n{NEWER}if 1: import there\n", None),
        ("import there\n", ("there.py",)),
        ("#!/bin/sh\nexec python3 -c 'import there'\n", ()),
        ("There is no code in here; it would import there.\n", ()),
    ],
)
def test_a_script_without_an_ending_imports_as_any_other(repository, text, found):
    repository.write("train_it", text).chmod(0o755)
    repository.commit()
    repository.write("there.py", "")
    assert tree_facts(repository.project('command = ["./train_it"]\n')).imported == found


NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["%time\\n", "import there\\n"]}]}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (NOTEBOOK, ("there.py",)),
        (NOTEBOOK.replace('"code"', '"markdown"'), ()),
        (NOTEBOOK.removesuffix("]}"), None),
        ("[]", ()),
    ],
)
def test_a_notebook_that_is_launched_is_searched(repository, text, found):
    repository.write("run.ipynb", text)
    repository.commit()
    repository.write("there.py", "")
    assert imported(repository) == ()
    project = repository.project('command = ["papermill", "run.ipynb"]\n')
    assert tree_facts(project).imported == found


def test_a_changed_file_is_named(repository):
    repository.write("train/core.py", "")
    facts = tree_facts(repository.project())
    assert facts.git.dirty
    assert [c.path for c in facts.git.changes] == ["train/core.py"]


def launched(repository, *argv):
    project = repository.project().about_to_launch(argv, repository.folder)
    return tree_facts(project).launched


TEXTS = {
    "new.py": "",
    "own/job.py": "",
    "own/__main__.py": "",
    "start.sh": "",
    "started": "#!/bin/sh\n",
    "ignored/old.py": "",
}


@pytest.fixture
def beside(repository):
    """A repository with files beside it that no commit holds."""
    repository.write(".gitignore", "ignored\n")
    repository.write("train.py", "")
    repository.write("train/__main__.py", "")
    repository.write("run.sh", "set -e\ncd /tmp # don't\npython \\\n  new.py --x 1\n")
    repository.write("go", '#!/usr/bin/env bash\nexec python "$HERE/own/job.py"\n').chmod(0o755)
    repository.commit()
    for name, text in TEXTS.items():
        repository.write(name, text).chmod(0o755)
    return repository


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (("python", "train.py", "--lr", "1"), ()),
        (("python", "-m", "train"), ()),
        (("python", "new.py"), ("new.py",)),
        (("python", "-u", "./own/../new.py"), ("new.py",)),
        (("torchrun", "--nproc-per-node", "2", "new.py", "--x"), ("new.py",)),
        (("python", "-m", "own.job"), ("own/job.py",)),
        (("python", "-m", "own"), ("own/__main__.py",)),
        (("python", "ignored/old.py"), ("ignored/old.py",)),
        (("bash", "start.sh"), ("start.sh",)),
        (("./started",), ("started",)),
        (("sh", "-c", "cd . && exec python new.py --a b"), ("new.py",)),
        (("bash", "-lc", "python new.py;"), ("new.py",)),
        (("accelerate", "launch", "--main=new.py"), ("new.py",)),
        (("bash", "run.sh"), ("new.py",)),
        (("./go",), ("own/job.py",)),
        (("python", "nowhere.py"), ()),
        (("python", "a\0b.py"), ()),
    ],
)
def test_a_launched_file_that_no_commit_holds_is_named(beside, argv, found):
    assert launched(beside, *argv) == found


def test_a_script_outside_of_the_repository_is_in_no_commit_of_it(beside, tmp_path):
    script = tmp_path / "elsewhere.py"
    script.write_text("")
    assert launched(beside, "python", str(script)) == (str(script),)


def test_programs_of_an_environment_are_none_of_the_projects_files(beside):
    beside.write("ignored/venv/pyvenv.cfg", "")
    beside.write("ignored/venv/bin/torchrun", "#!/bin/sh\n").chmod(0o755)
    assert launched(beside, "ignored/venv/bin/torchrun", "train.py") == ()


def test_what_an_untracked_script_imports_is_found_with_it(beside):
    beside.write("new.py", "import beside_it\n")
    beside.write("beside_it.py", "")
    facts = tree_facts(beside.project().about_to_launch(("python", "new.py"), beside.folder))
    assert (facts.launched, facts.imported) == (("new.py",), ("beside_it.py",))


def test_the_specs_command_is_looked_at_where_nothing_is_launched(beside):
    facts = tree_facts(beside.project('command = ["python", "new.py"]\n'))
    assert facts.launched == ("new.py",)


@pytest.fixture
def library(beside, tmp_path):
    """A repository with a submodule that tracks one file, imports another and ignores a third."""
    inner = tmp_path / "inner"
    inner.mkdir()
    beside.git("init", "--quiet", str(inner))
    (inner / "job.py").write_text("import patch\n")
    (inner / ".gitignore").write_text("hidden.py\n")
    for arguments in (("add", "."), ("commit", "--quiet", "-m", "x")):
        beside.git("-C", str(inner), *arguments)
    allowed = ("-c", "protocol.file.allow=always")
    beside.git(*allowed, "submodule", "--quiet", "add", str(inner), "lib")
    beside.write("train.py", "from lib import extra, hidden\n")
    beside.git("commit", "--quiet", "-am", "a library")
    return beside


def test_what_a_submodule_holds_is_its_own_repositorys(library):
    assert launched(library, "python", "lib/job.py") == ()
    assert tree_facts(library.project()).imported == ()


@pytest.mark.parametrize("name", ["lib/extra.py", "lib/hidden.py", "lib/extra/__init__.py"])
def test_what_a_submodule_does_not_track_is_in_no_commit(library, name):
    library.write(name, "")
    assert launched(library, "python", name) == (name,)
    facts = tree_facts(library.project())
    ignored = name == "lib/hidden.py"
    assert (facts.imported, facts.ignored) == (((), (name,)) if ignored else ((name,), ()))


def test_what_a_submodule_imports_of_the_outer_tree_is_looked_at(library):
    library.write("patch.py", "")
    assert imported(library) == ("patch.py",)


def test_a_submodule_of_a_submodule_is_looked_at(library, tmp_path):
    allowed = ("-c", "protocol.file.allow=always")
    folder = str(library.folder / "lib")
    library.git("-C", folder, *allowed, "submodule", "--quiet", "add", str(tmp_path / "inner"), "b")
    library.write("lib/b/patch.py", "")
    assert imported(library) == ("lib/b/patch.py",)


def test_a_submodule_that_is_not_checked_out_hides_nothing_else(library):
    library.git("submodule", "--quiet", "deinit", "-f", "lib")
    library.write("lib_unused.py", "")
    assert imported(library) == ()


@pytest.fixture
def hiding(repository):
    """A project that ignores much, some of it code."""
    repository.write(".gitignore", "/gen/\n*_local.py\n/data/\n/venv/\n/build/\n__pycache__\n")
    repository.write(
        "run.py", "import settings_local\nfrom gen.tables import T\nimport train.core\n"
    )
    repository.commit()
    return repository


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"settings_local.py": ""}, ("settings_local.py",)),
        ({"other_local.py": ""}, ()),
        ({"gen/tables.py": ""}, ("gen/tables.py",)),
        ({"gen/tables/__init__.py": "", "gen/__init__.py": ""},
         ("gen/__init__.py", "gen/tables/__init__.py")),
        ({"gen/unused.py": ""}, ()),
        ({"venv/pyvenv.cfg": "", "venv/lib/settings_local.py": ""}, ()),
        ({"build/lib/train/core.py": ""}, ()),
        ({"data/scratch/settings_local.py": "", "data/a.bin": ""}, ()),
    ],
    ids=["imported", "unused", "folder", "package", "folder, unused", "venv", "build", "data"],
)  # fmt: skip
def test_what_git_ignores_and_code_imports_is_named(hiding, files, found):
    for name, text in files.items():
        hiding.write(name, text)
    facts = tree_facts(hiding.project())
    assert (facts.ignored, facts.imported, facts.git.dirty) == (found, (), False)


@pytest.mark.parametrize("end", [".so", ".abi3.so", ".cpython-39-x86_64-linux-gnu.so", ".pyd"])
def test_a_compiled_module_that_no_commit_holds_is_named(hiding, end):
    hiding.write("run.py", "import fast, gen.native\nfrom train import there\n")
    hiding.write(".gitignore", "/gen/\n/fast.*\n")
    hiding.commit()
    for name in ("fast", "gen/native", "gen/unused", "train/there", "train/unused"):
        (hiding.folder / name).parent.mkdir(exist_ok=True)
        (hiding.folder / f"{name}{end}").write_bytes(b"\x7fELF there")
    facts = tree_facts(hiding.project())
    assert facts.ignored == (f"fast{end}", f"gen/native{end}")
    assert (facts.imported, facts.unclear) == ((f"train/there{end}",), ())


@pytest.mark.parametrize("named", ['config = ["gen"]', 'config = ["gen/tables.py"]'])
def test_an_ignored_file_whose_content_every_manifest_names_is_none(hiding, named):
    hiding.write("settings_local.py", "")
    hiding.write("gen/tables.py", "")
    spec = f'[provenance]\nauxiliary = ["settings_local.py"]\n{named}\n'
    assert tree_facts(hiding.project(spec)).ignored == ()
    hiding.write("gen/__init__.py", "")
    others = () if named.endswith('"gen"]') else ("gen/__init__.py",)
    assert tree_facts(hiding.project(spec)).ignored == others


def test_a_folder_too_full_to_be_looked_through_is_still_asked_for_what_is_imported(
    hiding, monkeypatch
):
    monkeypatch.setattr("pfid.bootstrap.preflight.hidden_code.ENTRIES_MAX", 2)
    for name in ("gen/1", "gen/2", "gen/3", "gen/tables.py"):
        hiding.write(name, "")
    assert tree_facts(hiding.project()).ignored == ("gen/tables.py",)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_code_behind_a_link_that_leads_out_of_the_commit_is_in_no_commit(
    repository, tmp_path, kind
):
    away = tmp_path / "away"
    away.mkdir()
    (away / "masks.py").write_text("")
    repository.write("run.py", "import linked.masks\nimport masks\n")
    inside = repository.folder / "within.py"
    inside.symlink_to("run.py")
    if kind == "file":
        (repository.folder / "masks.py").symlink_to(away / "masks.py")
    else:
        (repository.folder / "linked").symlink_to(away)
    repository.commit()
    found = "masks.py" if kind == "file" else "linked/masks.py"
    assert imported(repository) == (found,)


@pytest.mark.parametrize("ignored", [False, True])
def test_code_of_a_repository_within_that_is_no_submodule_is_in_no_commit(repository, ignored):
    repository.write("run.py", "import inner.masks\n")
    if ignored:
        repository.write(".gitignore", "/inner/\n")
    repository.commit()
    repository.git("init", "--quiet", str(repository.folder / "inner"))
    repository.write("inner/masks.py", "")
    repository.write("inner/unused.py", "")
    facts = tree_facts(repository.project())
    found = ("inner/masks.py",)
    assert (facts.imported, facts.ignored) == (((), found) if ignored else (found, ()))


def test_a_launched_link_is_what_it_leads_to(beside, tmp_path):
    (tmp_path / "real.py").write_text("")
    (beside.folder / "link.py").symlink_to(tmp_path / "real.py")
    (beside.folder / "fine.py").symlink_to("train.py")
    beside.git("add", "link.py", "fine.py")
    beside.git("commit", "--quiet", "-m", "links")
    assert launched(beside, "python", "fine.py") == ()
    assert launched(beside, "python", "link.py") == (str(tmp_path / "real.py"),)
