"""Which platform an engine's build is for, and what a platform decides."""

import ast

import pytest

from pfid.formats.engine_source.platforms import PLATFORMS, built_for, deciding


@pytest.mark.parametrize(
    ("version", "platform"),
    [
        ("0.33.0", "cuda"),
        ("0.33.0+cu129", "cuda"),
        ("0.33.0+cuda13", "cuda"),
        ("0.33.1.dev12+g1a2b3c4d5.d20261130", "cuda"),
        ("0.33.1.dev12+g1a2b3c4d5.precompiled", "cuda"),
        ("0.33.0+rocm711", "rocm"),
        ("0.33.1.dev12+g1a2b3c4d5.rocm711", "rocm"),
        ("0.33.0+cpu", "cpu"),
        ("0.33.0+xpu", "xpu"),
        ("0.33.0+tpu", "tpu"),
        (" 0.33.0+CPU\n", "cpu"),
        ("0.33.0+empty", ""),
        ("0.33.0+nv25.10", ""),
        ("0.33.0+cpu.cu129", ""),
        ("0.33.0+cpu-like", ""),
        ("", ""),
        ("+cpu", ""),
    ],
)
def test_the_label_of_a_version_tells_the_platform_and_none_is_for_cuda(version, platform):
    assert built_for(version) == platform


@pytest.mark.parametrize(
    ("test", "on"),
    [
        ("current_platform.is_cuda()", "cuda"),
        ("platforms.current_platform.is_rocm()", "rocm"),
        ("vllm.platforms.current_platform.is_cuda_alike()", "cuda rocm"),
        ("not current_platform.is_cpu()", "cuda rocm xpu tpu"),
        ("current_platform.is_xpu() or current_platform.is_tpu()", "xpu tpu"),
        ("current_platform.is_cuda_alike() and not current_platform.is_rocm()", "cuda"),
        ("TYPE_CHECKING or current_platform.is_xpu()", "xpu"),
        ("current_platform.device_type == 'cuda'", "cuda rocm"),
        ("current_platform.device_type != 'tpu'", "cuda rocm xpu cpu"),
        ("current_platform.is_out_of_tree()", ""),
        ("current_platform.is_cuda() and False", ""),
    ],
)
def test_a_platform_decides_what_asks_for_it(test, on):
    node = ast.parse(test, mode="eval").body
    assert {p: deciding(p)(node) for p in PLATFORMS} == {p: p in on.split() for p in PLATFORMS}


@pytest.mark.parametrize(
    "test",
    [
        "current_platform.is_cuda",
        "current_platform.is_cuda(0)",
        "current_platform.is_cuda(strict=True)",
        "current_platform.is_device_capability_family(100)",
        "other.is_cuda()",
        "is_cuda()",
        "current_platform.other.is_cuda()",
        "current_platform.device_type == kind",
        "current_platform.device_type in ('cuda', 'cpu')",
        "'a' < current_platform.device_type == 'cuda'",
        "current_platform.device_name == 'cuda'",
        "device_type == 'cuda'",
        "current_platform.is_cuda() == True",
        "current_platform.is_cuda() and fast",
    ],
)
def test_nothing_else_is_decided(test):
    node = ast.parse(test, mode="eval").body
    assert deciding("cuda")(node) is None


@pytest.mark.parametrize("name", PLATFORMS)
def test_without_a_platform_only_constants_are_decided(name):
    holds = deciding("")
    assert holds(ast.parse(f"current_platform.is_{name}()", mode="eval").body) is None
    assert holds(ast.parse("not TYPE_CHECKING", mode="eval").body) is True
