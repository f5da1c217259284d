"""What the daemon's libraries load for others stays out of it, and nobody else misses anything."""

import json
import subprocess
import sys

LEFT_OUT = (
    *("asyncio", "http.server", "multiprocessing", "ssl", "urllib.request", "wsgiref", "rich"),
    *("email", "importlib.metadata", "zipfile"),
)


def said(program: str) -> dict[str, object]:
    """What a fresh interpreter prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, check=True, text=True
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_the_daemon_does_not_load_what_it_never_uses() -> None:
    names = said(
        "import json, sys, pfid.bootstrap.daemon_main\n"
        "print(json.dumps({'loaded': sorted(sys.modules)}))"
    )["loaded"]
    assert isinstance(names, list)
    assert not {*LEFT_OUT, "_hashlib"} & set(names)
    assert {"structlog", "prometheus_client", "apscheduler"} <= set(names)


def test_who_imports_them_later_gets_the_real_ones() -> None:
    assert said(
        "import json, pfid.bootstrap.daemon_main\n"
        "import asyncio, ssl, http.server, urllib.request, multiprocessing\n"
        "from importlib import metadata\n"
        "print(json.dumps({\n"
        "    'ran': asyncio.run(asyncio.sleep(0, 'ran')),\n"
        "    'files': all(m.__file__ for m in (ssl, http.server, urllib.request, asyncio)),\n"
        "    'pool': multiprocessing.get_context('spawn').get_start_method(),\n"
        "    'version': metadata.version('apscheduler')[0],\n"
        "    'tls': ssl.create_default_context().check_hostname}))"
    ) == {"ran": "ran", "files": True, "pool": "spawn", "version": "3", "tls": True}


def test_what_is_loaded_already_stays_as_it_is() -> None:
    assert said(
        "import json, ssl, http.server\n"
        "from pfid.adapters.lean_libraries import load_lean\n"
        "load_lean()\n"
        "import prometheus_client.exposition as e\n"
        "print(json.dumps({'ssl': e.ssl is ssl, 'handler': issubclass(e.MetricsHandler,\n"
        "    http.server.BaseHTTPRequestHandler)}))"
    ) == {"ssl": True, "handler": True}


def test_digests_are_the_same_without_openssl() -> None:
    answer = said(
        "import json\n"
        "from pfid.adapters.lean_libraries import load_lean\n"
        "load_lean()\n"
        "from pfid.host.proofs import core_digest_now\n"
        "print(json.dumps({'digest': core_digest_now()}))"
    )
    from pfid.host.proofs import core_digest_now

    assert answer == {"digest": core_digest_now()}


def test_the_collector_rests_while_all_is_loaded_and_runs_whatever_comes_of_the_start(tmp_path):
    spoilt = tmp_path / "pfid.toml"
    spoilt.write_text("nonsense")
    assert said(
        "import gc, json, sys\n"
        "from pfid.bootstrap import daemon_main\n"
        "loaded = gc.isenabled()\n"
        f"status = daemon_main.main(['box', '-', {str(spoilt)!r}])\n"
        "print(json.dumps({'loaded': loaded, 'status': status, 'after': gc.isenabled()}))"
    ) == {"loaded": False, "status": 2, "after": True}
