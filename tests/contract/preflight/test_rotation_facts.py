"""Is a rotation really made, and is nothing left of it?"""

import pytest

from pfid.bootstrap.preflight.rotation import rotation_facts

MOVES = '#!/bin/sh\nmv "$1" "${1%.log}.old.log"\n'
ZIPS = '#!/bin/sh\ngzip "$1"\n'
APPENDS = "#!/bin/sh\nexit 0\n"
TRUNCATES = '#!/bin/sh\n: > "$1"\n'
REMOVES = '#!/bin/sh\nrm "$1"\n'
COPIES = '#!/bin/sh\ncp "$1" "$1.1"\n'


def facts(repository, script=None, path="run.log"):
    rotate = ""
    if script is not None:
        repository.write("rotate.sh", script).chmod(0o755)
        rotate = 'rotate = ["./rotate.sh"]\n'
    return rotation_facts(repository.project(f'[log]\npath = "{path}"\n{rotate}'))


@pytest.mark.parametrize(
    ("script", "fresh", "kept"),
    [
        (None, True, True),
        (MOVES, True, True),
        (ZIPS, True, True),
        (COPIES + ': > "$1"\n', True, True),
        (APPENDS, False, True),
        (COPIES, False, True),
        (TRUNCATES, True, False),
        (REMOVES, True, False),
    ],
)
def test_a_rotation_is_tried(repository, script, fresh, kept):
    before = repository.write("run.log", "a run\n").stat().st_mtime_ns
    found = facts(repository, script)
    assert (found.problem, found.fresh, found.kept) == ("", fresh, kept)
    left = {p.name for p in repository.folder.iterdir()} - {"rotate.sh"}
    assert left == {".git", ".gitignore", "data", "train", "run.log"}
    assert (repository.folder / "run.log").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("script", "said"), [("#!/bin/sh\necho broken >&2; exit 4\n", "exit status 4: broken")]
)
def test_a_rotation_that_fails_says_so(repository, script, said):
    found = facts(repository, script)
    assert found.problem == "rotation_failed"
    assert found.detail == said


def test_a_command_that_is_not_there_and_a_folder_that_is_not_there(repository):
    project = repository.project('[log]\npath = "run.log"\nrotate = ["./none.sh"]\n')
    assert rotation_facts(project).problem == "rotation_failed"
    assert facts(repository, path="none/run.log").problem == "no_folder"


def test_no_log_is_none(repository):
    assert rotation_facts(repository.project()) is None
