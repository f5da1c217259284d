"""Which processes belong to which run."""

from pfid.domain.process_stat import ProcStat
from pfid.policy.process_tree import Forest, Tree, joiners, newcomers


def stat(pid, parent=1, group=None, session=None, start=10, state="S"):
    return ProcStat(
        pid=pid,
        comm="x",
        state=state,
        parent_pid=parent,
        process_group=pid if group is None else group,
        session=pid if session is None else session,
        start_ticks=start,
        cpu_ticks=0,
    )


def found(forest, *strangers, taken=()):
    return {s.pid: run for s, run in joiners(forest, strangers, taken=taken)}


def test_children_and_their_children_belong_in_one_look():
    assert found(Forest(members={10: "a"}), stat(12, parent=11), stat(11, parent=10)) == {
        11: "a",
        12: "a",
    }


def test_a_stranger_belongs_to_nobody():
    assert found(Forest(members={10: "a"}), stat(50)) == {}


def test_an_orphan_is_known_by_the_session_or_group_its_dead_parent_founded():
    forest = Forest(members={10: "a"}, founders={11: "a"})
    assert found(forest, stat(12, session=11), stat(13, group=11)) == {12: "a", 13: "a"}


def test_a_founders_number_that_somebody_else_has_now_proves_nothing():
    forest = Forest(members={10: "a"}, founders={11: "a"})
    assert found(forest, stat(11), stat(12, session=11)) == {}


def test_an_orphan_handed_to_its_launcher_belongs_to_the_launchers_run():
    assert found(Forest(members={10: "a"}, launchers={5: "a"}), stat(12, parent=5)) == {12: "a"}


def test_nothing_older_than_the_root_descends_from_it():
    forest = Forest(members={10: "a"}, founders={7: "a"}, born={"a": 100})
    assert found(forest, stat(12, session=7, start=99), stat(13, session=7, start=100)) == {13: "a"}


def test_the_dead_and_the_taken_never_join():
    forest = Forest(members={10: "a"})
    assert found(forest, stat(11, parent=10, state="Z"), stat(12, parent=10), taken={12}) == {}


def test_each_child_joins_its_own_run():
    forest = Forest(members={10: "a", 20: "b"})
    assert found(forest, stat(11, parent=10), stat(21, parent=20)) == {11: "a", 21: "b"}


def test_one_tree_is_found_without_any_memory():
    tree = Tree(root_pid=10, root_start_ticks=5)
    assert [s.pid for s in newcomers(tree, [stat(10), stat(11, parent=10), stat(50)])] == [11]
