"""Debian's Chromium without a head, driven over its debugging pipe: no library, no port."""

import base64
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
WITHIN_S = 60.0
TALL = 3_000
READ_FD, WRITE_FD = 203, 204


class Browser:
    """One tab."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()

        os.dup2(to_read, READ_FD)
        os.dup2(to_write, WRITE_FD)
        # The debugging pipe is descriptors 3 and 4.
        script = f'exec chromium "$@" 3<&{READ_FD} 4>&{WRITE_FD}'
        profile = f"--user-data-dir={folder / 'profile'}"
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *FLAGS, profile, "about:blank"],
            pass_fds=(READ_FD, WRITE_FD),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (to_read, to_write, READ_FD, WRITE_FD):
            os.close(fd)
        self._rest = b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        self._attach()

    def _attach(self) -> None:
        targets = self.call("Target.getTargets")["targetInfos"]
        tab = next(t["targetId"] for t in targets if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=tab, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its answer; what else is said meanwhile is kept in ``events``."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result
            self.events.append(said)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = os.read(self._from, 1 << 20)
            assert chunk, "the browser is gone"
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        return said

    def look(self, url: str, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Open a page as wide as that."""
        self.events.clear()
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call("Page.navigate", url=url)
        ends_at = time.monotonic() + WITHIN_S
        while self.value("document.readyState + location.href") != f"complete{url}":
            assert time.monotonic() < ends_at
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """What an expression comes to on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """What the browser has logged: violations of the policy, failed loads."""
        return [
            e["params"]["entry"]["text"] for e in self.events if e.get("method") == "Log.entryAdded"
        ]

    def asked_for(self) -> set[str]:
        """Every address that was loaded."""
        sent = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return {e["params"]["request"]["url"] for e in sent}

    def screenshot(self, name: str) -> Path:
        """The page as a picture, whole up to what the browser can take."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            "x": 0,
            "y": 0,
            "width": size["width"],
            "height": min(size["height"], TALL),
            "scale": 1,
        }
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path = self._folder / name
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
