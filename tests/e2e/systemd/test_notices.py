"""Somebody is told of a death from inside the sandbox: a program, and a webhook with a token."""

import json

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn"),
]

UNIT = "pfid.service"
PYTHON = "/opt/pfid/bin/python"
CONFIG, TOKEN, TELL = "/etc/pfid/pfid.toml", "/etc/pfid/token", "/usr/local/bin/tell"
TOLD, HOOKED = "/var/lib/pfid/told.json", "/root/hooked.json"
PORT = 19900
SERVER = f"""\
import http.server, json
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open({HOOKED!r}, "a") as file:
            print(json.dumps([self.headers["Authorization"], body]), file=file)
        self.send_response(204)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", {PORT}), Hook).serve_forever()
"""


def lines(box, path):
    done = box.root("cat", path, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_program_and_a_webhook_are_told_of_a_death(box):
    box.write(TELL, f"#!/bin/sh\ncat >>{TOLD} && echo >>{TOLD}\n")
    box.root("chmod", "755", TELL)
    box.write(TOKEN, "geheim\n")
    box.root("chgrp", "pfid", TOKEN)
    box.root("chmod", "640", TOKEN)
    notify = (
        f'command = ["{TELL}"]\nwebhook = "http://127.0.0.1:{PORT}/"\nsecret_file = "{TOKEN}"\n'
    )
    box.write(CONFIG, f"[notify]\n{notify}")
    box.root("chmod", "644", CONFIG)
    box.root("systemd-run", "--quiet", "--unit=hook", PYTHON, "-c", SERVER)
    box.root("systemctl", "restart", UNIT)
    try:
        cursors = lambda: box.root("cat", "/var/lib/pfid/notified.json", check=False).stdout  # noqa: E731
        box.until("both follow", lambda: "command" in cursors() and "webhook" in cursors(), 30)
        log = "/home/alice/told.log"
        box.unit("alice", "told", PYTHON, "train.py", "told", "0", output=log)
        pid = box.show("told.service", "MainPID")
        run_id = box.json("alice", "attach", pid, "--name", "told", "--log", "told.log")["run_id"]
        box.root("kill", "-KILL", pid)
        deaths = lambda bodies: [b for b in bodies if b["check"] == "run_gone"]  # noqa: E731
        (said,) = box.until("the program", lambda: deaths(lines(box, TOLD)), 30)
        assert (said["about"], said["reason"], said["outcome"]) == (
            run_id,
            "killed_by_signal",
            "fail",
        )
        hooked = box.until(
            "the webhook", lambda: [x for x in lines(box, HOOKED) if deaths([x[1]])], 30
        )
        assert hooked == [["Bearer geheim", said]]
        assert "geheim" not in box.journal("-u", UNIT)
    finally:
        box.root("rm", "-f", CONFIG, TOKEN)
        box.root("systemctl", "restart", UNIT)
        box.root("systemctl", "stop", "hook.service")
