"""``pfid selftest --burn`` through a real sampler, driver library and the probe's own script.

The card is the stand-in for NVML; it shows what a real one would under the work it is given. That
work is done: the training interpreter runs pfid's script with the real torch, on the processor.
"""

import json
import os
import subprocess
import sys

import pytest
from nvml_shim import H200_IDLE, uuid

GIB = 1024**3
pytestmark = pytest.mark.timeout(700)
STAGE = """#!{python}
import pathlib, sys
scenario = pathlib.Path("{scenario}")
idle = scenario.read_text()
work = sys.argv[sys.argv.index("--work") + 1]
with scenario.with_name("worked").open("a") as told:
    told.write(work + " ")
shown = {{"gemm": {gemm}, "spin": (610000, 98, 3)}}[work]
busy = idle.replace("gpu 0 utilization 0", "gpu 0 utilization 100")
for name, now, value in zip(("power", "sm", "tensor"), ("77700", "0.0", "0.0"), shown):
    busy = busy.replace(f"gpu 0 {{name}} {{now}}", f"gpu 0 {{name}} {{value}}")
def play(text):
    new = scenario.with_name("scenario.trainer")
    new.write_text(text)
    new.replace(scenario)
play(busy)
try:
{body}
finally:
    play(idle)
"""
REAL = """
    import functools, runpy, torch
    for name in ("randn", "empty", "rand"):  # the one thing that is not here: the device
        made = getattr(torch, name)
        setattr(torch, name, functools.partial(
            lambda made, *a, device=None, **k: made(*a, **k), made))
    card = type("Card", (), {"major": 9, "minor": 0, "name": "H200", "uuid": "%s"})
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.get_device_properties = lambda _: card
    torch.cuda.mem_get_info = lambda _: (1 << 40, 1 << 40)
    torch.cuda.synchronize = lambda: None
    import json
    class Steady:  # a processor that others use too has no steady rate, and no test is of it
        write_on, flush, rate = sys.stdout.write, sys.stdout.flush, None
        def write(self, text):
            said = json.loads(text)
            if said["event"] == "block":
                self.rate = self.rate or said["count"] / said["seconds"]
                said["seconds"] = said["count"] / self.rate
            self.write_on(json.dumps(said) + "\\n")
    sys.stdout = Steady()
    sys.argv = [sys.argv[1], "--seconds", "6", "--size", "256", "--work", work]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
QUICK = """
    import json, time
    say = lambda **facts: print(json.dumps(facts), flush=True)
    say(event="ready", uuid="%s", size=8192)
    time.sleep(1.0)
    for _ in range(11):
        time.sleep(0.5)
        say(event="block", count=300, seconds=0.5)
    say(event="done")
"""


@pytest.fixture
def burn(nvml, tmp_path):
    """Burn an idle card that shows ``gemm`` (power, SM and tensor activity) under matrix work."""
    nvml.play(H200_IDLE)

    def run(body=QUICK, gemm=(627_400, 97, 81)):
        python = tmp_path / "python"
        python.write_text(
            STAGE.format(
                python=sys.executable,
                scenario=nvml.folder / "scenario",
                gemm=gemm,
                body=body % uuid(0),
            )
        )
        python.chmod(0o755)
        done = subprocess.run(
            [
                *(sys.executable, "-P", "-m", "pfid", "selftest", "--check", "gpu_work_kind"),
                *("--json", "--burn", python),
            ],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                **nvml.environ,
                "XDG_STATE_HOME": str(tmp_path / "state"),
                "PFID_SOCKET": str(tmp_path / "nobody.sock"),
            },
            check=False,
            timeout=600,
        )
        assert done.stdout, done.stderr
        found = json.loads(done.stdout)
        worked = nvml.folder / "worked"
        run.worked = worked.read_text().split() if worked.exists() else []
        (drill,) = found["drills"]
        return done.returncode, drill, found["gates"][0]["proven_to"]["live"]

    run.nvml = nvml
    return run


@pytest.mark.full
@pytest.mark.torch
@pytest.mark.alone
def test_a_card_whose_sensors_tell_a_spinning_kernel_from_a_gemm_proves_the_gate(burn):
    status, drill, live = burn(REAL)
    assert (status, drill["ok"], live) == (0, True, True), drill
    assert burn.worked == ["gemm", "spin", "gemm"]


@pytest.mark.full
def test_a_card_whose_sensors_do_not_show_a_gemm_lets_the_gate_down_and_is_left_alone(burn):
    status, drill, live = burn(gemm=(627_400, 97, 3))
    assert (status, drill["ok"], live) == (1, False, False)
    assert drill["why"] == "a dense GEMM came out as other work: sm_busy_tensor_idle"
    assert burn.worked == ["gemm"]


def test_a_card_that_somebody_is_on_is_never_burnt(burn):
    burn.nvml.run_on(0, os.getpid(), 8 * GIB)
    status, drill, live = burn()
    assert (status, drill["ok"], live, burn.worked) == (3, None, None, [])
    assert f"no idle GPU: GPU 0: pid {os.getpid()} is on it" in drill["why"]
