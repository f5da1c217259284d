"""How this very pfid is called from here: what a line that tells the next command begins with."""

import shutil
import sys
from pathlib import Path
from shlex import quote
from typing import Final

NAME: Final = "pfid"


def called() -> str:
    """``pfid`` where the shell would find this one under it, else what it was called by."""
    script = Path(sys.argv[0])
    if script.name != NAME:
        return f"{quote(sys.executable or 'python3')} -m {NAME}"
    found = shutil.which(NAME)
    try:
        ours = found is not None and Path(found).samefile(script)
    except OSError:
        ours = False
    return NAME if ours else quote(str(script))
