"""What a serving command says about itself."""

import pytest

from pfid.domain.serving import Shape
from pfid.formats.engine_command import is_detached, is_url, read_engine_command


@pytest.mark.parametrize(
    ("argv", "url"),
    [
        (("vllm", "serve", "m"), "http://127.0.0.1:8000"),
        (("vllm", "serve", "m", "--port", "9000"), "http://127.0.0.1:9000"),
        (("vllm", "serve", "m", "--port=9000", "--host=0.0.0.0"), "http://127.0.0.1:9000"),
        (("vllm", "serve", "m", "--host", "10.1.2.3"), "http://10.1.2.3:8000"),
        (("vllm", "serve", "m", "--host", "::1"), "http://[::1]:8000"),
        (("python", "-m", "sglang.launch_server"), "http://127.0.0.1:30000"),
        (("/opt/llama-server", "-m", "x.gguf"), "http://127.0.0.1:8080"),
        (("vllm", "serve", "m", "--port", "many"), "http://127.0.0.1:8000"),
    ],
)
def test_where_it_will_answer(argv, url):
    assert read_engine_command(argv).url == url


@pytest.mark.parametrize(
    ("argv", "shape"),
    [
        (("e", "--enable-lora"), Shape.ADAPTER),
        (("e", "--enable_lora"), Shape.ADAPTER),
        (("e", "--lora-modules", "a=/b"), Shape.ADAPTER),
        (("e", "--no-enable-lora"), Shape.MERGED),
        (("e", "--enable-lora=false"), Shape.MERGED),
        (("e", "m"), Shape.MERGED),
    ],
)
def test_what_is_served(argv, shape):
    assert read_engine_command(argv).shape is shape


def test_flags_are_features_and_no_places_or_keys():
    argv = ("e", "m", "--port", "1", "--api-key", "k", "--enable-lora", "--max-lora-rank", "64")
    found = read_engine_command(argv)
    assert found.flags == ("--enable-lora", "--max-lora-rank=64")
    assert found.api_key == "k"


def test_adapters_are_named_before_the_sign():
    argv = ("e", "--lora-modules", "sql=/a", "chat=/b", "--port", "1", "x=y")
    assert read_engine_command(argv).adapters == ("sql", "chat")
    assert read_engine_command(("e", "--lora-modules=sql=/a")).adapters == ("sql",)


@pytest.mark.parametrize("text", ["http://localhost:8000", "http://[::1]:8000/base"])
def test_a_url(text):
    assert is_url(text)


@pytest.mark.parametrize("text", ["localhost:8000", "https://x", "http://", "http://x:99999", "["])
def test_no_url(text):
    assert not is_url(text)


@pytest.mark.parametrize(
    ("words", "detached"),
    [
        ("docker run -d vllm serve", True),
        ("sudo /usr/bin/docker run --gpus all -itd vllm", True),
        ("podman run --detach=true vllm", True),
        ("docker run -it --rm vllm -d", False),
        ("docker run vllm serve -d", False),
        ("docker run -e D=-d -p 1:1 vllm --detach", False),
        ("docker run --detach=false vllm", False),
        ("docker --context far run -v /a:/b -d vllm", True),
        ("docker start vllm", False),
        ("vllm serve -d", False),
        ("docker run", False),
    ],
)
def test_a_container_in_the_background_is_told_by_its_own_options(words, detached):
    assert is_detached(words.split()) is detached
