"""A process that procfs does not show (hidepid) is told from one that is not there."""

import os
import subprocess
import sys

import pytest

ASK = """
import os, sys
from pfid.adapters.process_table import ProcessTable
table = ProcessTable()
os.setgid(65534); os.setuid(65534)
theirs, gone = map(int, sys.argv[1:])
print(*(table.inspect(pid) is not None for pid in (os.getpid(), theirs, gone)))
print(*(table.hidden(pid) for pid in (theirs, gone)))
"""


@pytest.mark.full
@pytest.mark.root
@pytest.mark.parametrize("hidepid", [1, 2])
def test_whoever_procfs_hides_is_there_all_the_same(hidepid, tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    mount = f'mount -t proc -o hidepid={hidepid} proc /proc && exec "$@"'
    asking = (sys.executable, "-c", ASK, str(os.getpid()), str(gone.pid))
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", *asking],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    seen, hidden = done.stdout.splitlines()
    assert seen == "True False False", "the fault was not delivered"
    assert hidden == "True False"
