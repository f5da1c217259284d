"""A daemon of which one thread ended with an error does not go on looking alive."""

import json
import subprocess
import sys
import textwrap

import pytest

FAULTS = {
    "control": "pfid.adapters.control_server:ControlServer._accept",
    "pfid.workers.log_reader": "pfid.adapters.worker_owner:WorkerOwner._look_at_worker",
    "store": "pfid.adapters.store:Store._work",
    "jobs": "pfid.adapters.scheduler:_DaemonThreadExecutor._work",
    "pfid-page": "pfid.adapters.http_server.server:PageServer._serve",
}
PROGRAM = """
    import importlib, socket, sys, threading, time
    from pfid.bootstrap import daemon_main

    module, _, path = sys.argv[1].partition(":")
    owner, name = path.split(".")

    def fault(*_):
        sys.stderr.write("fault delivered\\n")
        raise RuntimeError("planted")

    setattr(getattr(importlib.import_module(module), owner), name, fault)

    def knock():
        for _ in range(600):
            with socket.socket(socket.AF_UNIX) as client:
                try:
                    client.connect(sys.argv[3])
                    return
                except OSError:
                    time.sleep(0.05)

    threading.Thread(target=knock, daemon=True).start()
    sys.exit(daemon_main.main(["box", "-", sys.argv[2]]))
"""


@pytest.mark.parametrize("thread", FAULTS)
def test_a_daemon_ends_when_one_of_its_threads_did(tmp_path, thread):
    config = tmp_path / "pfid.toml"
    socket = tmp_path / "control.sock"
    config.write_text(
        f'[daemon]\nstate_directory = "{tmp_path / "state"}"\nsocket = "{socket}"\n'
        '[page]\nlisten = ["127.0.0.1:0"]\n'
    )
    arguments = [FAULTS[thread], str(config), str(socket)]
    ended = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(PROGRAM), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = [
        json.loads(line) for line in (ended.stderr + ended.stdout).splitlines() if line[:1] == "{"
    ]
    assert "fault delivered" in ended.stderr
    assert ended.returncode == 3, ended.stderr
    assert "RuntimeError: planted" in ended.stderr
    assert thread in [s["thread"] for s in said if s["event"] == "a thread ended"]
