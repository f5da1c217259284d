"""Asking an engine over HTTP as its clients will: its health, what it serves, one completion.

Whatever answers is not trusted: no answer takes longer or holds more than it may, and no proxy or
redirection stands between.
"""

import http.client
import json
import socket
import threading
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

ANSWER_MAX_BYTES: Final = 1 << 20
LOOK_S: Final = 5.0
COMPLETION_S: Final = 120.0
PROMPT: Final = "The capital of Portugal is"
TOKENS: Final = 4
NOT_THERE: Final = 404
BUSY: Final = frozenset({425, 429, 503})
"""What a server says that is not ready yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer.

    Attributes:
        asked: as ``GET /health``.
        status: of HTTP; None where none came.
        body: parsed, None where it is no JSON.
        text: its beginning, or why there is no answer.
    """

    asked: str
    status: int | None
    body: Any = None
    text: str = ""

    @property
    def good(self) -> bool:
        """Whether it was answered well."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def short(self) -> str:
        """For people."""
        return f"{self.asked} {self.status if self.status is not None else self.text}"


class EngineClient:
    """One engine."""

    def __init__(self, url: str, api_key: str = "") -> None:
        """Ask nothing yet.

        Args:
            url: as ``http://127.0.0.1:8000``.
            api_key: sent as a bearer's.
        """
        parts = urlsplit(url)
        self.host = parts.hostname or "127.0.0.1"
        self.port = parts.port or 80
        self._path = parts.path.rstrip("/")
        self._key = api_key

    def listens(self) -> bool:
        """Whether anybody takes connections there."""
        try:
            socket.create_connection((self.host, self.port), LOOK_S).close()
        except OSError:
            return False
        return True

    def health(self) -> Answer:
        """Ask whether it is healthy."""
        return self._ask("GET", "/health", LOOK_S)

    def version(self) -> str:
        """What it calls its version; "" where it does not say."""
        for path, key in (
            ("/version", "version"),
            ("/get_server_info", "version"),
            ("/props", "build_info"),
        ):
            body = self._ask("GET", path, LOOK_S).body
            said = body.get(key) if isinstance(body, dict) else None
            if isinstance(said, str) and said.strip():
                return said.strip()[:100]
        return ""

    def models(self) -> tuple[Answer, tuple[str, ...]]:
        """What it serves, by name."""
        answer = self._ask("GET", "/v1/models", LOOK_S)
        listed = answer.body.get("data") if isinstance(answer.body, dict) else None
        models = listed if isinstance(listed, list) else []
        names = [one.get("id") for one in models if isinstance(one, dict)]
        return answer, tuple(name for name in names if isinstance(name, str) and name)

    def complete(self, model: str, within_s: float) -> Answer:
        """Ask for a few tokens."""
        asked = {"model": model, "prompt": PROMPT, "max_tokens": TOKENS, "temperature": 0}
        return self._ask("POST", "/v1/completions", min(COMPLETION_S, within_s), asked)

    def _ask(
        self, method: str, path: str, within_s: float, body: dict[str, Any] | None = None
    ) -> Answer:
        """Ask in a thread that is left behind if it takes too long: a drip never times out."""
        asked = f"{method} {path}"
        came: list[Answer] = []
        work = _Request(self, asked, path, within_s, body)
        thread = threading.Thread(target=lambda: came.append(work.answer()), daemon=True)
        thread.start()
        thread.join(within_s + 0.5)
        return came[0] if came else Answer(asked=asked, status=None, text="no answer in time")


@dataclass(frozen=True, slots=True)
class _Request:
    client: EngineClient
    asked: str
    path: str
    within_s: float
    body: dict[str, Any] | None

    def answer(self) -> Answer:
        """Ask, and take what comes."""
        client = self.client
        connection = http.client.HTTPConnection(client.host, client.port, timeout=self.within_s)
        try:
            return self._asked(connection)
        except TimeoutError:
            return Answer(asked=self.asked, status=None, text="no answer in time")
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Answer(asked=self.asked, status=None, text=type(error).__name__)
        finally:
            connection.close()

    def _asked(self, connection: http.client.HTTPConnection) -> Answer:
        method = self.asked.partition(" ")[0]
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self.client._key:  # noqa: SLF001 - of this file
            headers["Authorization"] = f"Bearer {self.client._key}"  # noqa: SLF001
        sent = json.dumps(self.body) if self.body is not None else None
        connection.request(method, self.client._path + self.path, sent, headers)  # noqa: SLF001
        response = connection.getresponse()
        raw = response.read(ANSWER_MAX_BYTES)
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        text = raw[:500].decode("utf-8", "replace")
        return Answer(asked=self.asked, status=response.status, body=body, text=text)


def is_completion(answer: Answer) -> bool:
    """Whether a few tokens came."""
    choices = answer.body.get("choices") if isinstance(answer.body, dict) else None
    if not answer.good or not isinstance(choices, list) or not choices:
        return False
    first = choices[0]
    return isinstance(first, dict) and isinstance(first.get("text"), str)
