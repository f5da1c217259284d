"""Real Prometheus and Alertmanager on loopback, over real daemons."""

import contextlib
import http.server
import json
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pfid.monitoring.own_rules import LOOP_STALLED_S

CONFIG = '[page]\nlisten = ["127.0.0.1:{port}"]\n'
SCRAPE_S = 1
STALLED_S = 15
"""A loop that waits for something to do comes round within five."""


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def get(url: str) -> Any:
    """The JSON at an address."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


class Server:
    """A program that serves on loopback until the test is over."""

    def __init__(self, folder: Path, name: str, command: list[str], port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)

    def wait_ready(self) -> None:
        """Until it says that it is ready."""
        ends_at = time.monotonic() + 60
        while time.monotonic() < ends_at:
            assert self.process.poll() is None, self.log.read_text()
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/-/ready"):
                return
            time.sleep(0.1)
        pytest.fail(self.log.read_text())

    def close(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Prometheus(Server):
    """One Prometheus in a folder with its ``prometheus.yml``."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        command = [
            "prometheus",
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--rules.alert.resend-delay=1s",
            "--log.level=warn",
        ]
        super().__init__(folder, "prometheus", command, port)

    def api(self, path: str, **arguments: str) -> Any:
        """The data it answers with."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        try:
            return get(url)["data"]
        except urllib.error.HTTPError as refused:
            pytest.fail(f"{path} {arguments}: {refused.read().decode()}")

    def query(self, expr: str) -> list[dict[str, Any]]:
        """What an expression is now."""
        result: list[dict[str, Any]] = self.api("query", query=expr)["result"]
        return result

    def value(self, expr: str) -> float | None:
        """The one value of an expression, None while there is none."""
        found = self.query(expr)
        return float(found[0]["value"][1]) if found else None

    def scraped(self) -> dict[str, tuple[str, str]]:
        """Health and last error of each job's last target, once all have been tried."""
        targets = self.api("targets")["activeTargets"]
        found = {t["labels"]["job"]: (t["health"], t["lastError"]) for t in targets}
        return {} if "unknown" in {health for health, _ in found.values()} else found


class Receiver:
    """Who is told: keeps what Alertmanager posts."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, str]]] = []
        told = self.told

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                told.extend((a["status"], a["labels"]) for a in body["alerts"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def of(self, name: str, instance: str | None = None) -> list[str]:
        """What was told of an alert: ``firing``, ``resolved``, in order."""
        return [
            status
            for status, labels in self.told
            if labels["alertname"] == name and instance in {None, labels.get("instance")}
        ]

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Monitoring:
    """One Prometheus and one Alertmanager, with what ``pfid monitoring`` prints."""

    def __init__(self, folder: Path, place: Any, ports: list[int]) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.servers: list[Server] = []
        self.receiver = Receiver()
        rules = place.pfid("monitoring", "rules")
        assert rules.returncode == 0, rules.stderr
        # An hour of the rules' patience is a minute here; events have none to begin with.
        quick = re.sub(r'for: "(\d+)s"', lambda m: f'for: "{int(m[1]) // 60}s"', rules.stdout)
        stalled = "pfid_loop_last_iteration_timestamp_seconds > "
        assert quick.count(f"{stalled}{LOOP_STALLED_S}") == 1
        quick = quick.replace(f"{stalled}{LOOP_STALLED_S}", f"{stalled}{STALLED_S}")
        (folder / "rules.yml").write_text(quick)
        self.alertmanager = self._alertmanager(place)
        self.prometheus = self._prometheus(place, ports)
        for server in self.servers:
            server.wait_ready()

    def _alertmanager(self, place: Any) -> Server:
        nobody = "http://127.0.0.1:9/"
        receivers = ("--webhook", self.receiver.url, "--dead-man", nobody)
        made = place.pfid("monitoring", "alertmanager", *receivers)
        assert made.returncode == 0, made.stderr
        quick = made.stdout.replace('"10s"', '"1s"').replace('"1m"', '"2s"')
        (self.folder / "alertmanager.yml").write_text(quick)
        port = free_port()
        command = [
            "prometheus-alertmanager",
            "--config.file=alertmanager.yml",
            "--storage.path=alertmanager",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ]
        self.servers.append(Server(self.folder, "alertmanager", command, port))
        return self.servers[-1]

    def _prometheus(self, place: Any, ports: list[int]) -> Prometheus:
        sd = place.pfid(
            "monitoring",
            "sd",
            *(f"127.0.0.1:{port}" for port in ports),
            "--out",
            str(self.folder / "boxes.json"),
        )
        assert sd.returncode == 0, sd.stderr
        made = place.pfid("monitoring", "scrape-config", "--targets-file", "boxes.json").stdout
        quick = made.replace('"15s"', f'"{SCRAPE_S}s"').replace('"10s"', f'"{SCRAPE_S}s"')
        manager = self.alertmanager.url.removeprefix("http://")
        head = (
            f"global:\n  evaluation_interval: {SCRAPE_S}s\nrule_files: [rules.yml]\n"
            f'alerting:\n  alertmanagers:\n    - static_configs: [{{targets: ["{manager}"]}}]\n'
        )
        (self.folder / "prometheus.yml").write_text(head + quick)
        self.servers.append(prometheus := Prometheus(self.folder))
        return prometheus

    def query(self, expr: str) -> list[dict[str, Any]]:
        """What Prometheus answers now."""
        return self.prometheus.query(expr)

    def value(self, expr: str) -> float | None:
        """The one value of an expression, None while there is none."""
        return self.prometheus.value(expr)

    def alerts(self, name: str, *, inhibited: bool = False) -> list[dict[str, Any]]:
        """Alerts of that name in Alertmanager, firing or silenced by another."""
        states = "active=false&inhibited=true" if inhibited else "active=true&inhibited=false"
        found = get(f"{self.alertmanager.url}/api/v2/alerts?{states}&silenced=false")
        return [a for a in found if a["labels"]["alertname"] == name]

    def raise_alert(self, labels: dict[str, str], **more: str) -> None:
        """Tell Alertmanager what Prometheus would."""
        request = urllib.request.Request(
            f"{self.alertmanager.url}/api/v2/alerts",
            data=json.dumps([{"labels": labels, **more}]).encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=5).close()

    def resolve(self, labels: dict[str, str]) -> None:
        """Tell Alertmanager that it is over."""
        now = datetime.now(UTC).isoformat()
        self.raise_alert(labels, endsAt=now)

    def said(self) -> str:
        """What the servers have logged."""
        return "\n".join(server.log.read_text()[-2000:] for server in self.servers)

    def close(self) -> None:
        """End the servers."""
        for server in self.servers:
            server.close()
        self.receiver.close()


class Fleet:
    """Boxes, each with a daemon on a port of its own, under one Prometheus."""

    def __init__(self, first: Any, count: int, more: str) -> None:
        self.boxes = [first]
        for number in range(1, count):
            folder = first.folder / f"box-{number}"
            folder.mkdir()
            compiled = Path(first.environ["TORCHINDUCTOR_CACHE_DIR"])
            self.boxes.append(type(first)(folder, compiled))
        self.ports = [free_port() for _ in self.boxes]
        for box, port in zip(self.boxes, self.ports, strict=True):
            box.configure(CONFIG.format(port=port) + more)
            box.environ["STATE_DIRECTORY"] = str(box.folder / "daemon")
        self.daemons = [
            box.start("daemon", "--config", str(box.folder / "pfid.toml")) for box in self.boxes
        ]
        for box, port in zip(self.boxes, self.ports, strict=True):
            box.until("the daemon is ready", lambda p=port: self._ready(p), 60)
        self.monitoring = Monitoring(first.folder / "monitoring", first, self.ports)

    def _ready(self, port: int) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=2):
                return True
        except OSError:
            return False

    def close(self) -> None:
        """End everything."""
        self.monitoring.close()
        for box in self.boxes[1:]:
            box.close()


@pytest.fixture
def fleet(place):
    """Start a fleet of so many boxes; ``more`` is added to what each is configured with."""
    made = []

    def start(count: int = 1, more: str = "") -> Fleet:
        made.append(Fleet(place, count, more))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def port():
    """A port for one daemon's page."""
    return free_port()


@pytest.fixture
def prometheus(place):
    """Start a Prometheus on jobs and rules as they were printed."""
    started = []

    def start(jobs: str, rules: str = "") -> Prometheus:
        folder = place.folder / "prometheus"
        folder.mkdir()
        (folder / "rules.yml").write_text(rules)
        head = "global:\n  evaluation_interval: 5s\nrule_files: [rules.yml]\n"
        (folder / "prometheus.yml").write_text(head + jobs)
        started.append(Prometheus(folder))
        started[-1].wait_ready()
        return started[-1]

    yield start
    for one in started:
        one.close()
