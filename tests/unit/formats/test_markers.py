"""Messages, all their wordings, and the lines that only quote them."""

import pytest

from pfid.formats.log_stream import LogParser
from pfid.formats.markers import Sighting, sightings
from pfid.spec.ports.log import Marker

_GLOG = b"W1129 19:52:11.828000 18560 /x/torch/_dynamo/convert_frame.py:2008] [0/8] "


@pytest.mark.parametrize(
    ("marker", "line"),
    [
        (Marker.RECOMPILE_LIMIT, _GLOG + b"torch._dynamo hit config.recompile_limit (8)"),
        (
            Marker.RECOMPILE_LIMIT,
            b"[rank1]:" + _GLOG + b"torch._dynamo hit config.recompile_limit (8)",
        ),
        (
            Marker.RECOMPILE_LIMIT,
            (
                b"[2024-01-01 00:00:00,000] torch._dynamo.convert_frame: [WARNING]"
                b" torch._dynamo hit config.cache_size_limit (64)"
            ),
        ),
        (Marker.RECOMPILE_LIMIT, b"torchdynamo hit config.cache_size_limit (64)"),
        (Marker.RECOMPILE_LIMIT, b"torch._dynamo hit config.accumulated_recompile_limit (256)"),
        (
            Marker.FLEX_UNCOMPILED,
            (
                b"/x/flex_attention.py:2596: UserWarning: flex_attention called without"
                b" torch.compile() - this will use an unfused implementation"
            ),
        ),
        (Marker.TRACEBACK, b"Traceback (most recent call last):"),
        (Marker.TRACEBACK, b"[rank0]: Traceback (most recent call last):"),
        (
            Marker.TRACEBACK,
            b" 50%|## | 5/10 [00:09<00:05, 1.49s/it]Traceback (most recent call last):",
        ),
        (
            Marker.OUT_OF_MEMORY,
            b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        ),
        (Marker.OUT_OF_MEMORY, b"RuntimeError: CUDA error: out of memory"),
        (Marker.OUT_OF_MEMORY, b"slurmstepd: error: Detected 1 oom_kill event in StepId=7.0."),
        (Marker.OUT_OF_MEMORY, b"Out of memory: Killed process 77 (python) total-vm:1kB"),
        (
            Marker.NCCL_TIMEOUT,
            (
                b"[E ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation"
                b" timeout: WorkNCCL(SeqNum=7)"
            ),
        ),
        (
            Marker.SCHEDULER_TIME_LIMIT,
            (
                b"slurmstepd: error: *** JOB 1 ON n3 CANCELLED AT 2021-05-27T21:52:36"
                b" DUE TO TIME LIMIT ***"
            ),
        ),
        (
            Marker.SCHEDULER_CANCELLED,
            b"slurmstepd: error: *** STEP 1.0 ON n3 CANCELLED AT 2021-05-27T21:52:36 ***",
        ),
        (Marker.RESUMED, b"Resuming training from /out/checkpoint-500"),
        (Marker.RESUMED, b"  Continuing training from global step 500"),
        (Marker.RESUMED, b"  successfully loaded checkpoint from /x [ t 0, p 0 ] at iteration 50"),
        (Marker.RESUMED, b"Restoring states from the checkpoint path at /x/last.ckpt"),
        (Marker.SKIPPED_STEP, b"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale"),
        (Marker.RUN_HEADER, b"# pfid run demo-1 started 2026-11-29T21:00:00Z"),
    ],
)
def test_a_message_is_genuine(marker: Marker, line: bytes) -> None:
    assert Sighting(marker, genuine=True) in sightings(line)
    parser = LogParser()
    parser.feed(line + b"\n")
    seen = parser.facts().markers[marker]
    assert (seen.count, seen.first_line, seen.quoted) == (1, 1, 0)
    assert seen.line


@pytest.mark.parametrize(
    ("marker", "line"),
    [
        (Marker.RECOMPILE_LIMIT, b"torch._dynamo.config.recompile_limit = 64"),
        (Marker.RECOMPILE_LIMIT, b"    '%s hit config.%s_limit (8) cache_size_limit'"),
        (Marker.RECOMPILE_LIMIT, b"if 'torch._dynamo hit config.recompile_limit (8)' in line:"),
        (Marker.RECOMPILE_LIMIT, b"# torch._dynamo hit config.recompile_limit (8)"),
        (Marker.RECOMPILE_LIMIT, b"x = 1  # torch._dynamo hit config.recompile_limit (8)"),
        (Marker.RECOMPILE_LIMIT, b"see torch._dynamo hit config.recompile_limit (8) for more"),
        (Marker.RECOMPILE_LIMIT, b"['torch._dynamo hit config.recompile_limit (8)', 'x']"),
        (Marker.FLEX_UNCOMPILED, b'    "flex_attention called without torch.compile() - "'),
        (Marker.TRACEBACK, b'grep "Traceback (most recent call last):" run.log'),
        (Marker.TRACEBACK, b"print('Traceback (most recent call last):')"),
        (Marker.OUT_OF_MEMORY, b"except torch.OutOfMemoryError as e:  'CUDA out of memory'"),
        (Marker.SCHEDULER_TIME_LIMIT, b"echo 'CANCELLED AT x DUE TO TIME LIMIT'"),
        (Marker.RESUMED, b"Resuming is off"),
    ],
)
def test_a_line_that_only_holds_the_words_is_quoted(marker: Marker, line: bytes) -> None:
    assert Sighting(marker, genuine=False) in sightings(line)


def test_a_time_limit_is_not_also_a_cancellation() -> None:
    line = b"slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2021-05-27T21:52:36 DUE TO TIME LIMIT"
    assert [seen.marker for seen in sightings(line)] == [Marker.SCHEDULER_TIME_LIMIT]


def test_an_apostrophe_is_not_a_quotation() -> None:
    line = b"we didn't expect this: torch.OutOfMemoryError: CUDA out of memory."
    assert sightings(line) == [Sighting(Marker.OUT_OF_MEMORY, genuine=True)]


def test_the_first_genuine_line_is_kept_sanitised_with_its_place() -> None:
    parser = LogParser()
    parser.feed(b"# Traceback (most recent call last):\niter 3: loss 1.0, time 5.0ms\n", 50.0)
    parser.feed(b"\x1b[31m\x07Traceback (most recent call last):\n", 60.0)
    parser.feed(b"Traceback (most recent call last):\n", 70.0)
    parser = LogParser.restore(parser.state())
    seen = parser.facts().markers[Marker.TRACEBACK]
    assert (seen.count, seen.quoted, seen.first_line, seen.first_step) == (2, 1, 3, 3)
    assert (seen.first_at_s, seen.last_at_s) == (60.0, 70.0)
    assert seen.line == "\\x07Traceback (most recent call last):"
