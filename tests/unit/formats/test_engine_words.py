"""Which of an engine's many errors was the cause."""

import pytest

from pfid.formats.engine_words import cause, ran_out_of_memory

PLAYBOOK = b"""INFO 08-25 12:00:00 [api_server.py:1] starting
Traceback (most recent call last):
  File "core.py", line 691, in run_engine_core
    engine_core = EngineCoreProc(*args, **kwargs)
AttributeError: To support LoRA for MoE model,
                'get_expert_mapping' must be implemented
Traceback (most recent call last):
  File "api_server.py", line 1, in <module>
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def test_the_cause_is_told_whole_and_not_who_passed_it_on():
    assert cause(PLAYBOOK) == (
        "AttributeError: To support LoRA for MoE model,",
        "'get_expert_mapping' must be implemented",
    )


@pytest.mark.parametrize(
    "prefix",
    [
        b"(EngineCore_0 pid=712) ERROR 08-25 12:00:00 [core.py:700] ",
        b"ERROR 2026-08-25 12:00:00,123 ",
        b"[2026-08-25 12:00:00] ",
        b"\x1b[1;36m(APIServer pid=1)\x1b[0;0m ",
        b"",
    ],
)
def test_a_loggers_prefix_hides_no_error(prefix):
    assert cause(prefix + b"ValueError: no such flag\n") == ("ValueError: no such flag",)


def test_an_error_that_only_points_elsewhere_is_better_than_nothing():
    (line,) = cause(b"RuntimeError: Engine core initialization failed. See root cause above.\n")
    assert line.startswith("RuntimeError")


def test_without_an_exception_the_last_words_that_speak_of_failure_count():
    log = b"# pfid run x started y\nloading\nerror: invalid argument: --lora-x\nbye\n"
    assert cause(log) == ("error: invalid argument: --lora-x",)
    assert cause(b"# pfid run x\nloading\nbye\n") == ("bye",)
    assert cause(b"") == ()


def test_hostile_text_reaches_nobody_as_it_is():
    (line,) = cause(b"ValueError: \x1b]0;owned\x07\x00\x9b31m \xff" + b"x" * 10_000)
    assert len(line) <= 501
    assert line.isprintable()


@pytest.mark.parametrize(
    "words",
    [
        b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        b"ValueError: No available memory for the cache blocks. Try increasing",
        b"ValueError: Free memory on device cuda:0 (1.2/79.2 GiB) on startup is less than",
        b"larger than the available KV cache memory (1.0 GiB)",
        b"ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory",
        b"terminate called after throwing an instance of 'std::bad_alloc'",
    ],
)
def test_engines_say_in_many_ways_that_memory_did_not_suffice(words):
    assert ran_out_of_memory(b"loading\n" + words + b"\n")
    assert not ran_out_of_memory(b"INFO: memory usage is 12 GiB, gpu_memory_utilization 0.9\n")
