"""What a card says of itself reaches Alertmanager from a real daemon's own page, and leaves it."""

import pytest
from nvml_shim import H200, uuid

pytestmark = [
    pytest.mark.full,
    pytest.mark.needs("prometheus", "prometheus-alertmanager", "gcc"),
]
QUICK = "[gpus]\ninterval_s = 0.5\n"
HOT = 0x40
DOUBLE_BIT = 48
ERROR, SLOWED = "PfidGpuXid", "PfidGpuThrottled"
ABOUT = {
    ERROR: {"check": "gpu_xid", "reason": "hardware_error", "severity": "critical"},
    SLOWED: {"reason": "hw_thermal", "severity": "warning"},
}


def test_an_error_and_the_heat_of_one_card_are_told_of_it_alone(nvml, fleet):
    nvml.play(H200, H200)
    boxes = fleet(more=QUICK)
    box, servers = boxes.boxes[0], boxes.monitoring
    told, instance = servers.receiver, f"127.0.0.1:{boxes.ports[0]}"
    cards = f'count(pfid_gpu_up{{instance="{instance}"}} == 1)'
    box.until("both cards are scraped", lambda: servers.value(cards) == 2, 60)
    box.until("alerts arrive", lambda: servers.alerts("Watchdog"), 60)
    assert [servers.alerts(name) for name in ABOUT] == [[], []]

    nvml.change(1, throttle=HOT)
    nvml.xid(1, DOUBLE_BIT)
    for name, about in ABOUT.items():
        (alert,) = box.until(name, lambda n=name: servers.alerts(n), 60)
        about |= {"job": "pfid", "instance": instance, "uuid": uuid(1)}
        assert {key: alert["labels"].get(key) for key in about} == about
        assert uuid(1) in alert["annotations"]["description"]
        box.until("somebody is told", lambda n=name: told.of(n), 60)

    nvml.change(1, throttle=0)
    box.until("it cools, and that is told", lambda: told.of(SLOWED)[-1] == "resolved", 60)
    assert servers.alerts(SLOWED) == []
    assert len(servers.alerts(ERROR)) == 1, "an error of a card stands"
    assert set(told.of(ERROR)) == {"firing"}
