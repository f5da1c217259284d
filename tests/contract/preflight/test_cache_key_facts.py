"""Is a real key function driven through real files, and told from one that hashes the path?"""

import pytest

from pfid.bootstrap.preflight.cache_key import cache_key_facts

pytestmark = pytest.mark.full


def facts(repository, function, more=""):
    spec = (
        f'[cache_key]\nfunction = "train.core:{function}"\nkwargs = {{ length = 3 }}\n'
        f'must_change = {{ length = 4 }}\nfiles = {{ mask = "data/mask.json" }}\n{more}'
    )
    return cache_key_facts(repository.project(spec))


@pytest.mark.parametrize(
    ("function", "more", "unmoved", "stable"),
    [
        ("key_of_content", "", (), True),
        ("key_remembered", "", (), True),
        ("key_given_sha", 'given_as = "sha256"\n', (), True),
        ("key_given_sha", 'given_as = "text"\n', (), True),
        ("key_given_sha", 'given_as = "bytes"\n', (), True),
        ("key_of_path", "", ("mask",), True),
        ("key_without_length", "", ("length",), True),
        ("key_of_hash", "", ("length",), False),
        ("key_of_time", "", (), False),
        ("key_of_count", "", (), False),
        ("key_of_stat", "", ("mask",), True),
    ],
)
def test_a_key_is_driven(repository, function, more, unmoved, stable):
    found = facts(repository, function, more)
    assert found.problem == ""
    assert found.tried == 2
    assert found.unmoved == unmoved
    assert (found.unstable == ()) is stable


def test_the_projects_files_are_not_touched(repository):
    before = (repository.folder / "data/mask.json").stat()
    facts(repository, "key_of_path")
    after = (repository.folder / "data/mask.json").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert repository.git("status", "--porcelain") == ""


def test_an_empty_file_can_be_changed_too(repository):
    repository.write("data/mask.json", "")
    assert facts(repository, "key_of_content").unmoved == ()
    assert facts(repository, "key_of_path").unmoved == ("mask",)


def test_a_file_that_is_not_there_is_named(repository):
    (repository.folder / "data/mask.json").unlink()
    found = facts(repository, "key_of_content")
    assert found.unreadable == ("mask: data/mask.json: No such file or directory",)


@pytest.mark.parametrize(
    ("function", "said"), [("key_raises", "no key"), ("nowhere", "there is no 'nowhere'")]
)
def test_a_function_that_cannot_be_asked_is_named(repository, function, said):
    found = facts(repository, function)
    assert found.problem == "python_raised"
    assert said in found.detail
