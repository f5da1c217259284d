"""What the daemon's libraries load for others stays out of it, and nobody else misses anything."""

import json
import subprocess
import sys

LEFT_OUT = (
    *("asyncio", "http.server", "multiprocessing", "ssl", "urllib.request", "wsgiref", "rich"),
    *("email", "importlib.metadata", "zipfile"),
    *("ast", "typing_extensions", "html.entities", "tzlocal", "zoneinfo", "sysconfig"),
    *("calendar", "pickle", "bz2", "lzma", "socketserver"),
    *("structlog.dev", "structlog.stdlib", "structlog.tracebacks"),
)
LEFT_OUT_BY_WORKERS = ("ast", "typing_extensions", "asyncio", "email", "logging", "subprocess")


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


def test_the_log_reader_does_not_load_what_it_never_uses() -> None:
    names = said(
        "import json, sys, pfid.workers.log_reader\n"
        "print(json.dumps({'loaded': sorted(sys.modules)}))"
    )["loaded"]
    assert isinstance(names, list)
    assert not {*LEFT_OUT_BY_WORKERS} & set(names)
    assert {"msgspec", "inspect"} <= set(names)


def test_who_asks_for_what_is_hollow_is_told_that_there_is_nothing() -> None:
    """A function written in C then has no signature, as some never have."""
    assert said(
        "import json\n"
        "from pfid.workers.lean_imports import load_lean\n"
        "load_lean()\n"
        "import inspect\n"
        "try:\n"
        "    told = str(inspect.signature(len))\n"
        "except ValueError:\n"
        "    told = 'none'\n"
        "print(json.dumps({'c': told, 'python': str(inspect.signature(json.loads))[:3]}))"
    ) == {"c": "none", "python": "(s,"}


def test_the_scheduler_counts_seconds_without_the_calendar() -> None:
    assert said(
        "import json, datetime as dt\n"
        "from pfid.adapters.lean_libraries import load_lean\n"
        "load_lean()\n"
        "from apscheduler.util import datetime_to_utc_timestamp as seconds\n"
        "zone = dt.timezone(dt.timedelta(hours=-9, minutes=-30))\n"
        "then = [dt.datetime(1969, 12, 31, 23, 59, 58, 250_000, dt.UTC),\n"
        "        dt.datetime(2028, 2, 29, 12, 0, 1, 500_000, zone)]\n"
        "print(json.dumps({'seconds': [seconds(t) for t in then],\n"
        "                  'python': [t.timestamp() for t in then]}))"
    ) == {"seconds": [-1.75, 1835472601.5], "python": [-1.75, 1835472601.5]}


def test_who_imports_them_later_gets_the_real_ones() -> None:
    assert said(
        "import json, pfid.bootstrap.daemon_main\n"
        "import asyncio, ssl, http.server, urllib.request, multiprocessing\n"
        "import ast, calendar, html.entities, pickle, shutil, zoneinfo\n"
        "from importlib import metadata\n"
        "print(json.dumps({\n"
        "    'ran': asyncio.run(asyncio.sleep(0, 'ran')),\n"
        "    'files': all(m.__file__ for m in (ssl, http.server, urllib.request, asyncio)),\n"
        "    'pool': multiprocessing.get_context('spawn').get_start_method(),\n"
        "    'version': metadata.version('apscheduler')[0],\n"
        "    'tree': ast.unparse(ast.parse('x=1')), 'named': html.entities.html5['amp;'],\n"
        "    'leap': calendar.isleap(2028), 'pickled': pickle.loads(pickle.dumps(3)),\n"
        "    'zone': zoneinfo.ZoneInfo.__name__,\n"
        "    'tls': ssl.create_default_context().check_hostname}))"
    ) == {
        "ran": "ran",
        "files": True,
        "pool": "spawn",
        "version": "3",
        "tree": "x = 1",
        "named": "&",
        "leap": True,
        "pickled": 3,
        "zone": "ZoneInfo",
        "tls": True,
    }


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
