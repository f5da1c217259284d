"""Is something said of what takes long, and nothing of what does not?"""

from pfid.cli.patience import FIRST_S, NEXT_S, Patience


def test_it_is_silent_at_first_and_then_speaks_now_and_then():
    now, said = [100.0], []
    patience = Patience(said.append, lambda: now[0])
    for at_s, far in ((0.0, "a"), (FIRST_S - 0.1, "b"), (FIRST_S, "c"), (FIRST_S + 0.1, "d"),
                      (FIRST_S + NEXT_S, "e")):  # fmt: skip
        now[0] = 100.0 + at_s
        patience.told(far)
    assert said == ["c", "e"]
