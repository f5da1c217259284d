"""Runs: who they are, how they are, what they use."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from pfid.adapters.page.family import COUNTER, GAUGE, Family, Labels, Spec, shared, untrusted
from pfid.adapters.page.run_labels import LabelCache
from pfid.domain.run import Run, RunState
from pfid.domain.snapshot import Resources, RunView, Snapshot

RUNS: Final = Spec("pfid_runs", GAUGE, "Runs known to the daemon, whether exported or not.")
INFO: Final = Spec(
    "pfid_run_info", GAUGE, "Always 1. Who the run is; join on run, never alert on a pid."
)
STATE: Final = Spec("pfid_run_state", GAUGE, "1 for the state the run is in, 0 for the others.")
WORLD_SIZE: Final = Spec(
    "pfid_run_world_size", GAUGE, "Ranks of its job, as said at launch; absent without a job."
)
START: Final = Spec("pfid_run_start_timestamp_seconds", GAUGE, "When the process started.")
END: Final = Spec("pfid_run_end_timestamp_seconds", GAUGE, "When the end was seen; after it only.")
LAST_PROGRESS: Final = Spec(
    "pfid_run_last_progress_timestamp_seconds", GAUGE, "Last sign of progress; absent before one."
)
EXIT_CODE: Final = Spec(
    "pfid_run_exit_code", GAUGE, "Exit code, or minus the signal; absent while alive or unknown."
)
CPU: Final = Spec("pfid_run_cpu_seconds_total", COUNTER, "CPU time of the run's process tree.")
READ: Final = Spec(
    "pfid_run_read_bytes_total", COUNTER, "Bytes read; absent where the kernel refuses to say."
)
WRITTEN: Final = Spec(
    "pfid_run_written_bytes_total", COUNTER, "Bytes written; absent where the kernel refuses."
)
RESIDENT: Final = Spec("pfid_run_resident_memory_bytes", GAUGE, "Resident memory of the tree.")
MEMORY_LIMIT: Final = Spec(
    "pfid_run_memory_limit_bytes",
    GAUGE,
    "Memory of the box, or a cgroup's limit over the run, whichever is nearest to being full.",
)
MEMORY_LEFT: Final = Spec(
    "pfid_run_memory_available_bytes",
    GAUGE,
    "What the kernel could still give of it, to 1 %; file caches count as free.",
)
PROCESSES: Final = Spec("pfid_run_processes", GAUGE, "Processes in the run's tree.")
SAMPLER: Final = "proc"
"""Name of the sampler whose age decides whether figures of a tree may still be shown."""


def count(snapshot: Snapshot, *, synthetic: bool) -> Iterator[Family]:
    """Runs by state, over all runs of the snapshot."""
    states = Counter(view.state for view in snapshot.runs if view.synthetic is synthetic)
    family = Family(RUNS)
    for state in RunState:
        family.add(states[state], shared(state=state.value))
    yield family


def families(views: Sequence[RunView], cache: LabelCache, *, fresh: bool) -> Iterator[Family]:
    """What is known of each run. ``fresh`` says whether figures of process trees are recent."""
    known = [(view, cache.of(view.run.run_id)) for view in views]
    info, state, world = Family(INFO), Family(STATE), Family(WORLD_SIZE)
    for view, labels in known:
        info.add(1, labels.info or labels.learn(_info(view.run)))
        state.add_all(
            [("", of_state, 1 if view.state is value else 0) for value, of_state in labels.states]
        )
        world.add_known(view.run.world_size, labels.run)
    yield from (info, state, world)
    start, end, progress, code = (
        Family(START),
        Family(END),
        Family(LAST_PROGRESS),
        Family(EXIT_CODE),
    )
    for view, labels in known:
        start.add(view.run.started_at_s, labels.run)
        progress.add_known(view.last_progress_at_s, labels.run)
        if view.end is not None:
            end.add(view.end.at_s, labels.run)
            code.add_known(_status(view.end.exit_code, view.end.signal), labels.run)
    yield from (start, end, progress, code)
    yield from _resources([(v.resources, labels.run) for v, labels in known if fresh])


def _resources(known: Sequence[tuple[Resources | None, Labels]]) -> Iterator[Family]:
    specs = (CPU, READ, WRITTEN, RESIDENT, MEMORY_LIMIT, MEMORY_LEFT, PROCESSES)
    cpu, read, written, resident, limit, left, processes = made = tuple(Family(s) for s in specs)
    for uses, labels in known:
        if uses is None:
            continue
        cpu.add_known(uses.cpu_seconds, labels)
        read.add_known(uses.read_bytes, labels)
        written.add_known(uses.written_bytes, labels)
        resident.add_known(uses.resident_bytes, labels)
        limit.add_known(uses.memory_limit_bytes, labels)
        left.add_known(uses.memory_available_bytes, labels)
        processes.add(uses.processes, labels)
    yield from made


def _info(run: Run) -> Labels:
    """Identity, so that rules can join boxes and ranks. Untrusted text is sanitised."""
    known = {"job_id": run.job_id, "rank": run.rank, "world_size": run.world_size}
    return Labels(
        run=run.run_id,
        name=untrusted(run.name),
        pid=str(run.identity.pid),
        username=untrusted(run.username),
        source=run.source.value,
        **{name: untrusted(str(value)) for name, value in known.items() if value is not None},
    )


def _status(exit_code: int | None, signal: int | None) -> int | None:
    return exit_code if signal is None else -signal
