"""Is a real repository seen as it is, and are imports of what git does not track found?"""

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


def test_code_that_cannot_be_parsed_imports_nothing_and_stops_nobody(repository):
    repository.write("broken.py", "def (:\n")
    (repository.folder / "nul.py").write_bytes(b"\0\0")
    repository.write("run.py", "import there\n")
    repository.commit()
    repository.write("there.py", "")
    assert imported(repository) == ("there.py",)


def test_a_changed_file_is_named(repository):
    repository.write("train/core.py", "")
    facts = tree_facts(repository.project())
    assert facts.git.dirty
    assert [c.path for c in facts.git.changes] == ["train/core.py"]
