"""A card was taken out and another put in its place: its figures are not the old one's."""

import os
import subprocess
import sys

from nvml_shim import H200, uuid

SCRIPT = """
import time
from pfid.workers import nvml_device, nvml_sampler
nvml_device.FACTS_S = nvml_sampler.LOOK_AGAIN_S = 0.05
sampler = nvml_sampler.NvmlSampler()
sampler.open(frozenset(), lambda _: None)
while True:
    got = sampler.read(time.time(), time.monotonic())
    print(*(s.uuid for s in got.samples), flush=True)
    time.sleep(0.02)
"""


def test_a_handle_that_names_another_card_is_asked_for_anew(nvml):
    nvml.play(H200, H200)
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **nvml.environ},
        stdout=subprocess.PIPE,
        text=True,
    ) as reading:
        try:
            assert reading.stdout.readline().split() == [uuid(0), uuid(1)]
            nvml.change(1, uuid=uuid(7))
            for line in reading.stdout:
                if line.split() == [uuid(0), uuid(7)]:
                    break
            else:
                raise AssertionError("it ended")
        finally:
            reading.kill()
