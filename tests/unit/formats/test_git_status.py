from hypothesis import given
from hypothesis import strategies as st

from pfid.formats.git_status import gitlinks, parse_status
from pfid.spec.ports.git import CHANGES_MAX, GitChange

OID = "35a4e8e0c0de35a4e8e0c0de35a4e8e0c0de35a4"
NULL = "0" * 40
HEAD = f"# branch.oid {OID}\0# branch.head main\0"
FILE = f"100644 100644 100644 {OID} {OID}"
LINK = f"160000 160000 160000 {OID} {OID}"


def test_every_kind_of_entry_is_read():
    status = parse_status(
        f"{HEAD}1 .M N... {FILE} a b.py\0u UU N... 100644 {FILE} {OID} c\0? notes\0".encode()
    )
    assert (status.commit, status.branch) == (OID, "main")
    assert status.changes == (GitChange(path="a b.py", state=".M"), GitChange(path="c", state="UU"))
    assert status.untracked == ("notes",)


def test_a_repository_without_a_commit_and_a_detached_head_have_none():
    status = parse_status(b"# branch.oid (initial)\0# branch.head (detached)\0")
    assert (status.commit, status.branch) == (None, None)


def test_a_submodule_says_what_is_recorded_and_how_it_differs():
    status = parse_status(f"{HEAD}1 .M SCMU {LINK} inner\0".encode())
    (inner,) = status.submodules.values()
    assert (inner.commit, inner.moved, inner.dirty, inner.untracked) == (OID, True, True, True)
    assert status.changes == (GitChange(path="inner", state=".M", submodule=True),)


def test_files_that_a_submodule_does_not_track_change_nothing():
    status = parse_status(f"{HEAD}1 .M S..U {LINK} inner\0".encode())
    assert status.submodules["inner"].untracked
    assert (status.changes, status.changes_n) == ((), 0)


def test_a_submodule_that_was_only_staged_has_no_commit_yet():
    status = parse_status(f"{HEAD}1 A. S... 000000 160000 160000 {NULL} {OID} inner\0".encode())
    assert status.submodules["inner"].commit is None
    assert status.submodules["inner"].moved
    assert status.changes_n == 1


def test_many_changes_are_counted_and_not_all_named():
    status = parse_status((HEAD + f"1 .M N... {FILE} f\0? u\0" * (CHANGES_MAX + 1)).encode())
    assert len(status.changes) == len(status.untracked) == CHANGES_MAX
    assert status.changes_n == status.untracked_n == CHANGES_MAX + 1


def test_only_links_are_submodules():
    text = "\0".join([f"100644 {OID} 0\ta.py", f"160000 {OID} 0\tsub dir/inner", ""]).encode()
    assert dict(gitlinks(text)) == {"sub dir/inner": OID}


@given(st.lists(st.sampled_from([b"1", b"u", b"#", b" ", b"S", b"SC", b"\0", b"x"])).map(b"".join))
def test_no_text_makes_it_raise(text):
    parse_status(text)
    list(gitlinks(text))
