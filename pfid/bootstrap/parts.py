"""Builds the loop's members over one core."""

import os

from pfid.daemon.answering import Answering
from pfid.daemon.baselines import Baselines
from pfid.daemon.box_judging import BoxJudging
from pfid.daemon.core import Core
from pfid.daemon.deaths import Deaths
from pfid.daemon.finishing import Afterwards, Finishing
from pfid.daemon.gpus import Gpus
from pfid.daemon.judging import Judging
from pfid.daemon.ledger import Ledger
from pfid.daemon.parts import Parts
from pfid.daemon.plugins import Plugins
from pfid.daemon.publishing import Publishing
from pfid.daemon.reading import Reading
from pfid.daemon.registering import Registering
from pfid.daemon.resuming import Resumed, Resuming
from pfid.daemon.trees import Trees


def built_parts(core: Core, judging: Judging, *, allow_fuse: bool) -> Parts:
    """Build them; ``allow_fuse`` as in :class:`pfid.wire.reader.Configure`."""
    reading = Reading(core, judging, allow_fuse=allow_fuse)
    deaths = Deaths(core, judging, reading)
    trees = Trees(core, judging, deaths, os.getpid())
    publishing = Publishing(core)
    ledger = Ledger(core)
    answering = Answering(core, publishing)
    baselines = Baselines(core, judging)
    box_judging = BoxJudging(core, judging)
    finishing = Finishing(
        core, judging, reading, deaths, Afterwards(ledger=ledger, baselines=baselines)
    )
    return Parts(
        core=core,
        baselines=baselines,
        judging=judging,
        box_judging=box_judging,
        reading=reading,
        deaths=deaths,
        trees=trees,
        registering=Registering(core, judging, reading, deaths, trees),
        answering=answering,
        publishing=publishing,
        ledger=ledger,
        finishing=finishing,
        gpus=Gpus(core, box_judging),
        plugins=Plugins(core),
        resuming=Resuming(
            Resumed(
                core=core,
                judging=judging,
                reading=reading,
                deaths=deaths,
                trees=trees,
                on_disk=answering.committed,
                leave_later=finishing.leave_later,
            )
        ),
    )
