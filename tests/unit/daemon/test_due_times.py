"""Own monotonic due-times."""

from pfid.daemon.due_times import DueTimes


def test_what_is_due_comes_oldest_first_and_once():
    due = DueTimes()
    due.set("b", 2.0)
    due.set("a", 1.0)
    due.set("c", 9.0)
    assert [due.pop(5.0), due.pop(5.0), due.pop(5.0)] == [("a", 1.0), ("b", 2.0), None]
    assert due.next_s() == 9.0


def test_setting_again_moves_it_both_ways():
    due = DueTimes()
    due.set("a", 1.0)
    due.set("a", 5.0)
    assert due.pop(2.0) is None
    due.set("a", 0.5)
    assert due.pop(2.0) == ("a", 0.5)
    assert due.pop(10.0) is None


def test_sooner_never_delays():
    due = DueTimes()
    due.set("a", 2.0)
    due.sooner("a", 5.0)
    assert due.next_s() == 2.0
    due.sooner("a", 1.0)
    assert due.next_s() == 1.0


def test_what_is_dropped_is_never_due():
    due = DueTimes()
    due.set("a", 1.0)
    due.drop("a")
    assert (due.next_s(), due.pop(9.0), len(due)) == (None, None, 0)


def test_moving_one_key_for_ever_takes_no_memory():
    due = DueTimes()
    for i in range(10_000):
        due.set("a", float(i))
    assert len(due._heap) < 200
