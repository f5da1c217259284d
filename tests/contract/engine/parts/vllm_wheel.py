"""vLLM's Python source, read out of its wheel on the package index without loading the rest.

A wheel is 250 to 440 MB of compiled kernels with 9 MB of Python among them, so the archive's
directory and the members that end in ``.py`` are fetched by ranges; what lies there is what an
installation has. The files are kept beside the checkout between runs, never committed.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[4] / ".tests" / "engines"
AHEAD_BYTES = 1 << 20
ATTEMPTS = 3
WANTED = ("lora/", "model_executor/", "models/", "transformers_utils/", "plugins/", "config/")
PACKAGE = "vllm/"


class Ranges(io.RawIOBase):
    """A file behind a URL, read in blocks of a megabyte that are kept."""

    def __init__(self, url):
        self._url = url
        self._at = 0
        self._blocks = {}
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60) as head:
            self._size = int(head.headers["Content-Length"])

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self._at

    def seek(self, offset, whence=os.SEEK_SET):
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def readinto(self, target):
        number, begin = divmod(self._at, AHEAD_BYTES)
        found = self._block(number)[begin : begin + len(target)] if self._at < self._size else b""
        target[: len(found)] = found
        self._at += len(found)
        return len(found)

    def _block(self, number):
        if number not in self._blocks:
            last = min((number + 1) * AHEAD_BYTES, self._size) - 1
            wanted = {"Range": f"bytes={number * AHEAD_BYTES}-{last}"}
            self._blocks[number] = self._fetched(wanted)
        return self._blocks[number]

    def _fetched(self, headers):
        for attempt in range(ATTEMPTS):
            try:
                asked = urllib.request.Request(self._url, headers=headers)
                with urllib.request.urlopen(asked, timeout=120) as answer:
                    return answer.read()
            except OSError:
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError


def source_of(version):
    """Return the folder that holds the package ``vllm`` of a version."""
    folder = CACHE / f"vllm-{version}"
    if not (folder / "complete").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _unpack(version, folder)
        (folder / "complete").touch()
    return folder


def _unpack(version, folder):
    buffered = io.BufferedReader(Ranges(_wheel(version)), AHEAD_BYTES)
    with zipfile.ZipFile(buffered) as archive:
        for member in sorted(archive.infolist(), key=lambda m: m.header_offset):
            name = member.filename
            kept = name.startswith(tuple(PACKAGE + part for part in WANTED))
            top = name.startswith(PACKAGE) and name.count("/") == 1
            told = ".dist-info/" in name
            if ((kept or top) and name.endswith(".py")) or (
                told and name.endswith((".txt", "METADATA"))
            ):
                archive.extract(member, folder)


def _wheel(version):
    """Where the index that pip is configured for has the wheel."""
    accepts = {"Accept": "application/vnd.pypi.simple.v1+json"}
    asked = urllib.request.Request(f"{_index().rstrip('/')}/vllm/", headers=accepts)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        files = json.load(answer)["files"]
    return next(
        f["url"]
        for f in files
        if f["filename"].startswith(f"vllm-{version}-") and f["filename"].endswith("x86_64.whl")
    )


def _index():
    call = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    said = subprocess.run(call, capture_output=True, text=True, check=False)
    return said.stdout.strip() or os.environ.get("PIP_INDEX_URL") or "https://pypi.org/simple"
