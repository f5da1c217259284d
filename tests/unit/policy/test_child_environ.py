"""What a training process finds in its environment."""

import pytest

from pfid.policy.child_environ import NOT_FOR_CHILDREN, child_environ, local_ranks


def test_it_finds_its_run_and_everything_else_as_it_was():
    given = {"PATH": "/bin", "RANK": "0"}
    assert child_environ(given, "r1", "/runs/r1") == given | {
        "PFID_RUN_ID": "r1",
        "PFID_RUN_DIR": "/runs/r1",
        "PYTHONUNBUFFERED": "1",
    }


def test_nothing_that_systemd_told_its_launcher_alone():
    assert not NOT_FOR_CHILDREN & set(child_environ(dict.fromkeys(NOT_FOR_CHILDREN, "x"), "r", "d"))


@pytest.mark.parametrize("value", ["", "0", "x"])
def test_a_buffering_that_was_chosen_stays(value):
    assert child_environ({"PYTHONUNBUFFERED": value}, "r", "d")["PYTHONUNBUFFERED"] == value


def test_an_outer_runs_names_do_not_leak_into_an_inner_run():
    outer = {"PFID_RUN_ID": "outer", "PFID_RUN_DIR": "/outer"}
    assert child_environ(outer, "inner", "/inner")["PFID_RUN_ID"] == "inner"


@pytest.mark.parametrize(
    ("argv", "environ", "ranks"),
    [
        ("python t.py", {}, 1),
        ("torchrun --nproc-per-node 4 t.py", {}, 4),
        ("torchrun --nproc_per_node=8 t.py", {}, 8),
        ("torchrun --nproc-per-node gpu t.py", {}, 1),
        ("accelerate launch --num_processes 2 t.py", {}, 2),
        ("torchrun --nproc-per-node", {}, 1),
        ("torchrun --nproc-per-node 0 t.py", {}, 1),
        ("torchrun --nproc-per-node 999999 t.py", {}, 64),
        ("python t.py", {"LOCAL_WORLD_SIZE": "2"}, 2),
        ("python t.py", {"LOCAL_WORLD_SIZE": "²"}, 1),
    ],
)
def test_a_step_file_is_foreseen_for_every_rank_of_this_box(argv, environ, ranks):
    assert local_ranks(tuple(argv.split()), environ) == ranks


def test_a_folder_that_instruments_stands_first_in_pythons_path():
    found = child_environ({"PYTHONPATH": "/mine"}, "r", "d", "/pfid/site")
    assert found["PYTHONPATH"] == "/pfid/site:/mine"
    assert "PYTHONPATH" not in child_environ({}, "r", "d")
