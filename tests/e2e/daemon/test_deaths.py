"""How runs end, seen by a real daemon on real processes."""

import os
import signal
import sys
import time
from pathlib import Path

PARENT_THAT_DOES_NOT_REAP = """
import os, sys, time
child = os.fork()
if child == 0:
    time.sleep(1000)
print(child, flush=True)
sys.stdin.readline()
os.waitpid(child, 0)
time.sleep(1000)
"""
TREE = """
import os, sys, time, signal
worker = os.fork()
if worker == 0:
    time.sleep(1000)
print(worker, flush=True)
os.waitpid(worker, 0)
time.sleep(0.3)
sys.exit(1)
"""
DOUBLE_FORK = """
import os, sys, time
sys.stdin.readline()
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    time.sleep(7)  # for at least one sweep, and then its child
    if os.fork() == 0:
        time.sleep(1000)
    os.read(read, 1)
    os._exit(0)
sys.stdin.readline()
os.write(write, b"x")
os.wait()
time.sleep(1000)
"""
ADOPTING_LAUNCHER = """
import ctypes, os, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
script = 