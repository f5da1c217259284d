"""A process with every command imported, which forks a real ``pfid`` a request.

Each fork has its own descriptors and, where that is asked, ends as an interpreter ends, so that
what is lost at exit is lost here too; it costs milliseconds, where a start costs a second.
"""

import gc
import inspect
import io
import json
import os
import signal
import socket
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import click

import pfid
from pfid.bootstrap.selftest import Bench, selftest
from pfid.cli.entry import COMMANDS, main
from pfid.cli.output import table
from pfid.config.model import Config
from pfid.spec.check import Stage

PFID = str(Path(pfid.__file__).parent)


WORK = set()
"""Where the work of each command begins."""


def load(command):
    """Import everything below a group."""
    WORK.add(inspect.unwrap(command.callback).__code__)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            load(command.get_command(context, name))


def warm():
    """Import what commands import when they are called."""
    selftest(Bench(config=Config()), tuple(Stage), "adapter_reach")
    with redirect_stdout(io.StringIO()):
        table(("A",), [("b",)])


def interrupt_at(call, delivered):
    """Have Ctrl-C arrive at the n-th call within the command, and say that it did."""
    seen = 0

    def look(frame, event, _arg):
        nonlocal seen
        code = frame.f_code
        if event == "call" and (seen or code in WORK) and code.co_filename.startswith(PFID):
            seen += 1
            if seen == call:
                sys.setprofile(None)
                os.write(delivered, b"!")
                os.kill(os.getpid(), signal.SIGINT)

    sys.setprofile(look)


def become(asked, descriptors):
    """Take the place of a pfid that was just started; ends the process."""
    os.setsid()
    *streams, told = descriptors
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(number, "wb", closefd=False)),
            encoding="utf-8",
            line_buffering=number == 2 or os.isatty(number),
        )
        for number in (1, 2)
    )
    os.environ.clear()
    os.environ.update(asked["environ"])
    os.chdir(asked["cwd"])
    sys.argv = ["pfid", *asked["argv"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked["interrupt_at"]:
        interrupt_at(asked["interrupt_at"], told)
    try:
        main(prog_name="pfid")
    except SystemExit as end:
        if asked["whole_exit"]:
            raise
        sys.stdout.flush()
        os._exit(end.code or 0)


def serve(peer):
    """Answer each request by an exit status; returns the request in a fork."""
    while True:
        text, descriptors, _, _ = socket.recv_fds(peer, 1 << 20, 4)
        if not text:
            return None
        child = os.fork()
        if not child:
            return json.loads(text), descriptors
        for descriptor in descriptors:
            os.close(descriptor)
        peer.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        peer.send(str(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    for word in COMMANDS:
        load(import_module(f"pfid.cli.{word.replace('-', '_')}").command)
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        warm()
        gc.freeze()
        channel.send(b"ready")
        request = serve(channel)
    if request is not None:
        become(*request)
