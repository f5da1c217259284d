"""Every row of the verdict table through sampler, driver library and daemon, there and back."""

import json
import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest
from nvml_shim import (
    A100_NCCL_HANG,
    GB10,
    H200,
    H200_IDLE,
    H200_MIG,
    L40S_IDLE,
    NO_PERMISSION,
    NOT_SUPPORTED,
    PLAYBOOK_300,
    PLAYBOOK_600,
    RTX_3090_CAPPED,
    V100_HUNG,
    uuid,
)

from pfid.adapters.control_client import ControlClient
from pfid.domain.gpu_reference import GpuReference
from pfid.wire.control import Done, GetSnapshot, KeepReferences, SnapshotReply
from pfid.wire.snapshots import snapshot_of

CHECK = "gpu_work_kind"
LIMITS = f"""
[gpus]
interval_s = 0.5
[checks.{CHECK}.limits]
window_s = 4.0
hung_s = 20.0
"""
HOT = 0x40
THROTTLED = ("fail", "throttled")
POWER_UNCLEAR = "tensor_idle_power_unclear"
EVALUATION = "***** Running Evaluation *****"
DENSE = {"utilization": 100, "throttle": 0, "sm": 97.0, "tensor": 81.0}
UNPINNED = {"utilization": 60, "throttle": 0, "power": 100_000, "limit": 250_000}
GPM = {"gpm": 1, "sm": 97.0, "dram": 30.0}
SETTLED_S = 400.0
"""A failure is seen three times over three quarters of a minute before it is believed."""


@dataclass(frozen=True)
class Row:
    """What a card shows, and what must come of it."""

    card: dict[str, Any]
    said: tuple[str, str]
    reference: tuple[float, float] | None = None
    """Watts of its own GEMM, and the limit then."""
    steps: str = "train"
    about_card: bool = False
    comes_back: bool = True

    @property
    def healthy(self) -> dict[str, Any]:
        """The same card at good work: dense, where it can show that, else not pinned."""
        if not self.comes_back:
            return self.card
        if self.card.get("gpm") != 1:
            return {**self.card, **UNPINNED}
        watts = self.reference[0] if self.reference else 627.4
        return {**self.card, **DENSE, "power": round(1000 * watts)}

    @property
    def works(self) -> tuple[str, str]:
        """What must come of that."""
        if not self.comes_back:
            return self.said
        return ("pass", "matmul_bound" if self.card.get("gpm") == 1 else "no_clear_fault")


ROWS = {
    "matmul": Row(H200, ("pass", "matmul_bound"), (640.0, 700.0)),
    "playbook_300": Row(
        {**PLAYBOOK_300, **GPM, "tensor": 8.9}, ("fail", "sm_busy_tensor_idle"), (285.5, 300.0)
    ),
    "playbook_600": Row(
        {**PLAYBOOK_600, **GPM, "tensor": 8.9}, ("fail", "sm_busy_tensor_idle"), (285.5, 600.0)
    ),
    "not_measurable": Row(
        {**A100_NCCL_HANG, "power": 380_000}, ("unknown", "tensor_activity_unknown")
    ),
    "spins": Row(V100_HUNG, ("fail", "busy_at_low_power")),
    "hangs": Row(A100_NCCL_HANG, ("fail", "hung_in_collective"), steps="stop"),
    "starves": Row(H200_IDLE, ("fail", "gpu_starved")),
    "evaluates": Row(H200_IDLE, ("pass", "waits_by_phase"), steps="eval"),
    "nobody_tells_the_phase": Row(H200_IDLE, ("unknown", "phase_unknown"), steps=""),
    "hot": Row(
        {**H200, "power": 300_000, "throttle": HOT}, THROTTLED, (640.0, 700.0), about_card=True
    ),
    "cap_lowered": Row(RTX_3090_CAPPED, THROTTLED, (340.0, 350.0), about_card=True),
    "cap_below_default": Row(RTX_3090_CAPPED, THROTTLED, about_card=True),
    "no_tensor_at_65_percent": Row(
        {**H200, "power": 416_000, "tensor": 0.0}, ("unknown", POWER_UNCLEAR), (640.0, 700.0)
    ),
    "some_tensor_at_47_percent": Row(
        {**H200, "power": 300_800, "tensor": 27.0}, ("pass", "no_clear_fault"), (640.0, 700.0)
    ),
    "no_sm_at_627_w": Row(
        {**H200, "sm": 0.0, "tensor": 0.0}, ("fail", "sensors_disagree"), about_card=True
    ),
    "mig": Row(
        {**H200_MIG, "processes": 0}, ("not_applicable", "mig_shares_the_card"), comes_back=False
    ),
    "gb10": Row(GB10, ("unknown", "no_comparison")),
    "not_allowed": Row(
        {**L40S_IDLE, "utilization": NO_PERMISSION}, ("unknown", "field_unreadable")
    ),
    "no_sensors": Row(
        {**L40S_IDLE, "utilization": NOT_SUPPORTED, "power": NOT_SUPPORTED},
        ("not_applicable", "not_measured_here"),
    ),
}


class Trainers:
    """Runs that take a step a second, evaluate, stop, or say nothing."""

    def __init__(self, box):
        self.box = box
        self.over = threading.Event()
        self.logs = {}
        for name, row in ROWS.items():
            log = box.folder / f"{name}.log"
            log.write_text("")
            child = box.child()
            box.register(child.pid, name.replace("_", "-"), [log] if row.steps else [])
            box.nvml.run_on(list(ROWS).index(name), child.pid, 8 * 1024**3)
            self.logs[name] = log
        self.thread = threading.Thread(target=self._write)
        self.stopped = {name for name, row in ROWS.items() if row.steps == "stop"}

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _write(self):
        step = 0
        while not self.over.wait(1.0):
            step += 1
            for name, row in ROWS.items():
                if row.steps and not (name in self.stopped and step > 5):
                    evaluates = row.steps == "eval" and step > 2
                    line = EVALUATION if evaluates else json.dumps({"step": step, "seconds": 1.0})
                    with self.logs[name].open("a") as log:
                        log.write(line + "\n")


def work(box):
    """What the check says, by run; and by card where that is about the card."""
    with ControlClient(box.socket, timeout_s=60.0) as client:
        shown = snapshot_of(client.ask(GetSnapshot(), SnapshotReply))
    return {v.entity.id: (v.outcome.value, v.reason) for v in shown.verdicts if v.check == CHECK}


def differing(box, wanted):
    """Whatever is not as wanted yet."""
    said = work(box)
    return {
        name: said.get(about) for name, (about, what) in wanted.items() if said.get(about) != what
    }


def until_all(box, wanted):
    ends_s = time.monotonic() + SETTLED_S
    while (left := differing(box, wanted)) and time.monotonic() < ends_s:
        time.sleep(1.0)
    assert not left, box.log()[-2000:]


@pytest.mark.full
@pytest.mark.timeout(1000)
def test_every_row_is_told_and_taken_back_when_the_card_works_again(nvml, idle_box):
    box = idle_box
    box.environ |= nvml.environ
    box.nvml = nvml
    box.config.write_text(box.config.read_text() + LIMITS)
    nvml.play(*(row.card for row in ROWS.values()), log="off")
    box.start()
    references = [
        GpuReference(
            uuid=uuid(i),
            tflops=740.0,
            power_w=row.reference[0],
            power_limit_w=row.reference[1],
            at_s=1.0,
            driver="580.95.05",
        )
        for i, row in enumerate(ROWS.values())
        if row.reference
    ]
    box.until("the cards", lambda: isinstance(box.ask(KeepReferences(references=references)), Done))

    def about(i, name, row):
        return uuid(i) if row.about_card else name.replace("_", "-")

    with Trainers(box) as trainers:
        told = {n: (about(i, n, r), r.said) for i, (n, r) in enumerate(ROWS.items())}
        until_all(box, told)
        nvml.play(*(row.healthy for row in ROWS.values()))
        trainers.stopped.clear()
        works = {n: (n.replace("_", "-"), r.works) for n, r in ROWS.items()}
        until_all(box, works)
