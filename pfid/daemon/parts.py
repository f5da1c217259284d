"""What the loop is made of: its members, built over one core."""

from dataclasses import dataclass

from pfid.daemon.answering import Answering
from pfid.daemon.baselines import Baselines
from pfid.daemon.box_judging import BoxJudging
from pfid.daemon.core import Core
from pfid.daemon.deaths import Deaths
from pfid.daemon.finishing import Finishing
from pfid.daemon.gpus import Gpus
from pfid.daemon.judging import Judging
from pfid.daemon.ledger import Ledger
from pfid.daemon.plugins import Plugins
from pfid.daemon.publishing import Publishing
from pfid.daemon.reading import Reading
from pfid.daemon.registering import Registering
from pfid.daemon.resuming import Resuming
from pfid.daemon.trees import Trees


@dataclass(slots=True, eq=False, kw_only=True)
class Parts:
    """The loop's members, built over one core."""

    core: Core
    baselines: Baselines
    judging: Judging
    box_judging: BoxJudging
    reading: Reading
    deaths: Deaths
    trees: Trees
    registering: Registering
    answering: Answering
    publishing: Publishing
    ledger: Ledger
    finishing: Finishing
    resuming: Resuming
    gpus: Gpus
    plugins: Plugins
