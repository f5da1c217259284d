"""A process's stat line is read right whatever the process calls itself."""

import pytest

from pfid.formats.proc_stat import parse_proc_stat

TAIL = b"S 10 20 30 0 -1 4194304 1 2 3 4 50 7 8 9 20 0 1 0 4711 1000 2 3\n"


def test_fields_are_those_of_the_manual():
    stat = parse_proc_stat(b"42 (python) " + TAIL)
    assert (stat.pid, stat.comm, stat.state) == (42, "python", "S")
    assert (stat.parent_pid, stat.process_group, stat.session) == (10, 20, 30)
    assert (stat.start_ticks, stat.cpu_ticks) == (4711, 57)
    assert not stat.dead


def test_a_name_that_looks_like_a_stat_line_does_not_shift_the_fields():
    stat = parse_proc_stat(b"42 (x) Z 1 (2\n) " + TAIL)
    assert stat.comm == "x) Z 1 (2\n"
    assert stat.start_ticks == 4711
    assert not stat.dead


@pytest.mark.parametrize("state", [b"Z", b"X", b"x"])
def test_a_zombie_is_dead(state):
    assert parse_proc_stat(b"42 (x) " + state + TAIL[1:]).dead


@pytest.mark.parametrize("line", [b"", b"42 x S 1", b"42 (x) S 1 2", b"x (y) " + TAIL])
def test_anything_else_is_refused(line):
    with pytest.raises(ValueError, match=r"stat|int"):
        parse_proc_stat(line)
