"""Where the counter of a series went back, so that what follows is another attempt.

Going back is like a copy until more is read: what is weighed meanwhile are ``Echoes`` of the newest
step and a stretch ``Retold`` from further back.
"""

from pfid.formats.echoes import Echoes
from pfid.formats.line_count import LineCount
from pfid.formats.reading import Reading
from pfid.formats.retold import FAR, Retold, Turn
from pfid.formats.series import Series


def echoed(series: Series, reading: Reading, lines: LineCount, *, alike: bool) -> bool:
    """Whether a line without a name tells the newest step again, be its time alike or not."""
    index, stride = reading.step + series.lap_offset, max(series.usual_stride, 1)
    known = reading.printed_s is not None and reading.rank is None and series.points
    if not known or not 0 <= series.last_index - index <= stride:
        return False
    echoes = series.echoes = series.echoes or Echoes()
    if not echoes.steps or echoes.ended(index, stride):
        echoes.begin(index, lines.number(), series.last_index)
    echoes.hear(index, alike=alike)
    series.copies += 1
    return True


def turned_back(series: Series, reading: Reading) -> Turn | None:
    """Return where the counter went back by a step or two, where this reading makes it sure."""
    echoes, index = series.echoes, reading.step + series.lap_offset
    if echoes is None or series.partners or index <= series.last_index or not series.usual_stride:
        return None
    if not echoes.went_back(index, series.usual_stride):
        return None
    return Turn(echoes.came_from, echoes.first, echoes.first_line)


def worked_again(
    series: Series, reading: Reading, lines: LineCount, at_s: float | None, *, broken: bool
) -> Turn | None:
    """Return where work went back that a line alike goes on with, where that is certain.

    Args:
        series: the one that knows it.
        reading: a line that repeats a known step, without a bar.
        lines: count of them.
        at_s: when it arrived.
        broken: whether something ended a run just before.
    """
    index, stride = reading.step + series.lap_offset, max(series.usual_stride, 1)
    retold, far = series.retold, series.last_index - index > FAR * stride
    if retold is None or not retold.goes_on(index, series.last_index, stride):
        turn = Turn(series.last_index, index, lines.number())
        follows = retold is not None and retold.is_followed_by(index, series.last_index, stride)
        series.retold = Retold(turn, reading.clock_s, at_s, follows=follows) if far else None
        return turn if broken and far else None
    retold.hear(reading, index, series.pace_s, at_s)
    return retold.turn if retold.is_work() or (broken and far) else None


def ran_past(series: Series) -> Turn | None:
    """Return where steps were done again alike, in a log that is read when it is whole."""
    retold = series.retold
    if retold is None or not retold.ran_past(series.last_index, max(series.usual_stride, 1)):
        return None
    echo = series.echoes is not None and series.echoes.last > retold.turn.came_from
    return None if echo else retold.turn
