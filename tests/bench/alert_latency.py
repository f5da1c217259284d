"""From a SIGKILL to the alert that fires in Alertmanager, through real servers.

A daemon's page is scraped by Debian's Prometheus with the rules that ``pfid monitoring`` prints;
Alertmanager's own API is asked until the alert about the killed run is there. The project's limit:
scrape interval + evaluation interval + render interval + 2 s, an Alertmanager being discovered.
"""

import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from limits import Limits
from scratch_daemon import ScratchDaemon, end, sleepers

from pfid.bootstrap.page_joint import SOON_S

DEATHS: Final = int(os.environ.get("PFID_BENCH_DEATHS", "20"))
SCRAPE_S: Final = 1
EVALUATE_S: Final = 1
LIMIT_S: Final = SCRAPE_S + EVALUATE_S + SOON_S + 2.0
SERVERS: Final = ("prometheus", "prometheus-alertmanager")
WITHIN_S: Final = 90.0


def main() -> int:
    """Print the figures; ends with 1 where one misses its limit or could not be had."""
    missing = [name for name in SERVERS if shutil.which(name) is None]
    if missing:
        print(f"not measured: {', '.join(missing)} is not installed")
        return 1
    processes = sleepers(DEATHS + 1)
    try:
        with ScratchDaemon() as daemon:
            urls = [
                daemon.register(process.pid, f"dies-{i:02d}") for i, process in enumerate(processes)
            ]
            with _servers(daemon.folder, str(urls[0])) as (prometheus, alertmanager):
                _until("the alertmanager is discovered", lambda: _alerts(alertmanager, "Watchdog"))
                took = sorted(
                    _death(processes[i], f"dies-{i:02d}", prometheus, alertmanager)
                    for i in range(DEATHS)
                )
    finally:
        end(processes)
    print(f"SIGKILL to an alert that fires in Alertmanager; scrape {SCRAPE_S} s, evaluation")
    print(f"{EVALUATE_S} s, a page rendered every {SOON_S:g} s; seconds")
    print(f"{'n':>4}{'median':>9}{'max':>9}")
    print(f"{len(took):4}{statistics.median(took):9.2f}{took[-1]:9.2f}")
    limits = Limits()
    limits.at_most("from a death to its alert, the slowest", took[-1], LIMIT_S, "s")
    return limits.status()


def _death(
    process: "subprocess.Popen[bytes]", run: str, prometheus: str, alertmanager: str
) -> float:
    query = urllib.parse.urlencode({"query": f'pfid_run_info{{run="{run}"}}'})
    url = f"{prometheus}/api/v1/query?{query}"
    _until(f"{run} is scraped", lambda: _get(url)["data"]["result"])
    began_s = time.monotonic()
    process.kill()
    _until(
        f"the alert about {run}",
        lambda: any(a["labels"].get("run") == run for a in _alerts(alertmanager, "PfidRunGone")),
    )
    return time.monotonic() - began_s


@contextlib.contextmanager
def _servers(folder: Path, page: str) -> Iterator[tuple[str, str]]:
    """Both, on ports of their own, until the context is left."""
    ports = [_free_port(), _free_port()]
    address = urllib.parse.urlsplit(page).netloc
    nobody = "http://127.0.0.1:9/"
    (folder / "rules.yml").write_text(_said("rules"))
    (folder / "alertmanager.yml").write_text(
        _said("alertmanager", "--webhook", nobody, "--dead-man", nobody)
    )
    scrape = _said("scrape-config", address)
    quick = scrape.replace('"15s"', f'"{SCRAPE_S}s"').replace('"10s"', f'"{SCRAPE_S}s"')
    (folder / "prometheus.yml").write_text(
        f"global:\n  evaluation_interval: {EVALUATE_S}s\nrule_files: [rules.yml]\nalerting:\n"
        f'  alertmanagers:\n    - static_configs: [{{targets: ["127.0.0.1:{ports[1]}"]}}]\n{quick}'
    )
    commands = (
        [
            "prometheus",
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            f"--web.listen-address=127.0.0.1:{ports[0]}",
            "--rules.alert.resend-delay=1s",
        ],
        [
            "prometheus-alertmanager",
            "--config.file=alertmanager.yml",
            "--storage.path=alertmanager",
            f"--web.listen-address=127.0.0.1:{ports[1]}",
            "--cluster.listen-address=",
        ],
    )
    with (folder / "servers.log").open("wb") as log:
        running = [subprocess.Popen(c, cwd=folder, stdout=log, stderr=log) for c in commands]
    try:
        yield f"http://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}"
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(20)


def _said(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pfid", "monitoring", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _alerts(alertmanager: str, name: str) -> list[Any]:
    found = _get(f"{alertmanager}/api/v2/alerts?active=true&inhibited=false&silenced=false")
    return [alert for alert in found if alert["labels"]["alertname"] == name]


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


def _until(what: str, look: Callable[[], object]) -> None:
    """Look fifty times a second until something true is seen."""
    ends_at = time.monotonic() + WITHIN_S
    while time.monotonic() < ends_at:
        with contextlib.suppress(OSError):
            if look():
                return
        time.sleep(0.02)
    raise RuntimeError(f"{what}: not within {WITHIN_S} s")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
