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


@pytest.fixture
def long(repository):
    """A mask long enough to have a middle."""
    numbers = ", ".join(f'"{n}"' for n in range(100, 1_000))
    repository.write("data/mask.json", f"[{numbers}]\n\n")
    return repository


PLACES = ("beginning", "first quarter", "middle", "last quarter", "end", "length")


def places(*names):
    return tuple(f"mask: {name}" for name in names)


@pytest.mark.parametrize(
    ("function", "more", "unmoved"),
    [
        ("key_of_content", "", ()),
        ("key_remembered", "", ()),
        ("key_of_json", "", ()),
        ("key_given_sha", 'given_as = "sha256"\n', ()),
        ("key_given_sha", 'given_as = "text"\n', ()),
        ("key_given_sha", 'given_as = "bytes"\n', ()),
        ("key_without_length", "", ("length = 4",)),
        ("key_of_beginning", "", places(*PLACES[1:])),
        ("key_of_end", "", places(*PLACES[:4])),
        ("key_of_samples", "", places("first quarter", "middle", "last quarter")),
        ("key_of_size", "", places(*PLACES[:5])),
    ],
)
def test_a_key_is_driven_in_every_part_of_a_file(long, function, more, unmoved):
    found = facts(long, function, more)
    assert (found.problem, found.tried, found.unstable) == ("", 7, ())
    assert (found.unmoved, found.followed) == (unmoved, ())


@pytest.mark.parametrize(
    ("function", "unmoved", "followed"),
    [
        ("key_with_date", (), ("mask: another date",)),
        ("key_with_path", (), ("mask: another folder",)),
        ("key_of_path", places(*PLACES), ("mask: another folder",)),
        ("key_of_stat", places(*PLACES[:5]), ("mask: another date",)),
    ],
)
def test_a_key_that_moves_with_date_or_folder_is_told(long, function, unmoved, followed):
    found = facts(long, function)
    assert (found.unmoved, found.followed, found.unstable) == (unmoved, followed, ())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("key_of_hash", "in another process"),
        ("key_of_time", "again in the same process"),
        ("key_of_count", "again in the same process"),
    ],
)
def test_a_key_that_differs_for_the_same_is_told(repository, function, said):
    found = facts(repository, function)
    assert said in found.unstable
    assert found.followed == ()


def test_every_constant_argument_is_tried_unless_it_means_nothing(repository):
    spec = """
[cache_key]
function = "train.core:key_of_options"
files = { mask = "data/mask.json" }
kwargs = { template = "a", packed = true, rate = 0.5, ids = [1], inner = { a = 1 }, workers = 4 }
"""
    assert cache_key_facts(repository.project(spec)).unmoved == ("workers = 5",)
    found = cache_key_facts(repository.project(spec + 'may_stay = ["workers"]\n'))
    assert (found.unmoved, found.problem) == ((), "")


def test_every_file_of_a_folder_is_changed(repository):
    for name in ("tokenizer.json", "more/vocab.json", "readme.txt"):
        repository.write(f"data/tokenizer/{name}", "some content")
    spec = (
        '[cache_key]\nfunction = "train.core:key_of_folder"\nfiles = { mask = "data/tokenizer" }\n'
    )
    found = cache_key_facts(repository.project(spec))
    assert (found.problem, found.tried, found.followed) == ("", 3, ())
    assert found.unmoved == ("mask: readme.txt",)


def test_a_key_that_cannot_be_computed_of_a_change_hits_no_cache(long):
    found = facts(long, "key_dies")
    assert found.problem == ""
    assert found.unmoved == places(*PLACES[1:])


def test_the_projects_files_are_not_touched(repository):
    before = (repository.folder / "data/mask.json").stat()
    facts(repository, "key_of_path")
    after = (repository.folder / "data/mask.json").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert repository.git("status", "--porcelain") == ""


def test_an_empty_file_can_be_changed_too(repository):
    repository.write("data/mask.json", "")
    assert facts(repository, "key_of_content").unmoved == ()
    assert facts(repository, "key_of_path").unmoved == places("beginning", "length")


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
