"""A small project in a real repository, and the real interpreter to ask about it."""

import os
import subprocess
import sys

import pytest

from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.spec import loads_spec

CODE = """
import functools
import hashlib
import json
import os
import pathlib
import time


def merge(one, other):
    return one | other


def key_of_content(mask, length=0):
    return hashlib.sha256(pathlib.Path(mask).read_bytes() + str(length).encode()).hexdigest()


def key_of_path(mask, length=0):
    return hashlib.sha256(f"{mask}{length}".encode()).hexdigest()


def key_without_length(mask, length=0):
    return hashlib.sha256(pathlib.Path(mask).read_bytes()).hexdigest()


def key_of_hash(mask, length=0):
    return hash(pathlib.Path(mask).read_text())


def key_of_count(mask, length, calls=[]):
    calls.append(0)
    return [open(mask).read(), length, len(calls)]
def key_of_stat(mask, length):
    found = pathlib.Path(mask).stat()
    return [found.st_size, found.st_mtime_ns, length]
def key_of_time(mask, length=0):
    return time.time_ns()


def key_of_beginning(mask, length=0):
    return [pathlib.Path(mask).read_bytes()[:40], length]


def key_of_end(mask, length=0):
    return [pathlib.Path(mask).read_bytes()[-40:], length]


def key_of_samples(mask, length=0):
    body = pathlib.Path(mask).read_bytes()
    return [body[:40], body[-40:], len(body), length]


def key_of_size(mask, length=0):
    return [pathlib.Path(mask).stat().st_size, length]


def key_with_date(mask, length=0):
    return [key_of_content(mask, length), pathlib.Path(mask).stat().st_mtime_ns]


def key_with_path(mask, length=0):
    return [key_of_content(mask, length), str(mask)]


def key_of_json(mask, length=0):
    return [json.loads(pathlib.Path(mask).read_text()), length]


def key_dies(mask, length=0):
    if pathlib.Path(mask).read_bytes()[:1] != b"[":
        os.kill(os.getpid(), 9)
    return length


def key_of_options(mask, **options):
    return [key_of_content(mask), sorted((n, v) for n, v in options.items() if n != "workers")]


def key_of_folder(mask, length=0):
    files = sorted(p for p in pathlib.Path(mask).rglob("*") if p.is_file())
    return [[p.name, p.read_text()] for p in files if p.suffix != ".txt"] + [length]


@functools.lru_cache
def key_remembered(mask, length=0):
    return key_of_content(mask, length)


def key_given_sha(mask, length=0):
    return f"{mask}-{length}"


def key_raises(mask, length=0):
    raise RuntimeError("no key")


def overlap(one, other):
    return 1.0 if one and one == other else 0.0


def dead(one, other):
    return 0.0


def no_number(one, other):
    return "much"


class Arguments:
    def __init__(self, lr=1.0, warmup_steps=0):
        self.lr, self.warmup_steps = lr, warmup_steps


class Swallows:
    def __init__(self, lr=1.0, **rest):
        self.lr, self.rest = lr, rest
"""


class Repository:
    """A project that can be committed and asked about."""

    def __init__(self, folder, state):
        self.folder, self.state = folder, state
        self.environ = {
            **{n: v for n, v in os.environ.items() if not n.startswith("GIT_")},
            "XDG_STATE_HOME": str(state),
            "PFID_SOCKET": str(state / "no-daemon.sock"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PYTHONUNBUFFERED": "",  # else nothing that a program prints comes late
        }

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def git(self, *arguments):
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        return subprocess.run(
            ["git", "-C", str(self.folder), *identity, *arguments],
            check=True,
            capture_output=True,
            text=True,
            env=self.environ,
        ).stdout.strip()

    def commit(self, why="a step"):
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", why)
        return self.git("rev-parse", "HEAD")

    def project(self, spec="", python=sys.executable):
        named = f"python = {python!r}\n" if python else ""
        return Project(
            spec=loads_spec(named + spec),
            folder=self.folder,
            environ=self.environ,
            state=self.state,
        )


@pytest.fixture
def repository(tmp_path):
    folder, state = tmp_path / "project", tmp_path / "state"
    folder.mkdir()
    state.mkdir()
    made = Repository(folder, state)
    made.git("init", "--quiet", "--initial-branch=main")
    made.write("train/__init__.py", "")
    made.write("train/core.py", CODE)
    made.write("data/mask.json", "[1, 5]")
    made.write(".gitignore", "__pycache__\n")
    made.commit()
    return made
