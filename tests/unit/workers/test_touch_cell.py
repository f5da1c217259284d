"""What one process writes into the cell, another one reads."""

import os

from pfid.workers.touch_cell import TouchCell


def test_the_other_side_reads_what_was_set_last():
    ours = TouchCell.create()
    theirs = TouchCell(os.dup(ours.fd))
    assert ours.get() is None
    theirs.set(0)
    assert ours.get() == 0
    theirs.set(2**40)
    assert ours.get() == 2**40
    theirs.clear()
    assert ours.get() is None
    theirs.close()
    ours.close()
