"""What the environment says about a run's place in its job, so that rules can join boxes.

Rank and size of the world come from one source, or they do not fit: a batch script that states the
size for its ranks is no rank. Somebody who starts ranks is one of them only where its own source
says so: a torchrun on each of four nodes is one of four, the script of an allocation for eight
tasks is none of the eight.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_ELASTIC: Final = "TORCHELASTIC_RUN_ID"
_UNNAMED: Final = frozenset({"", "none"})
"""What torchrun calls a rendezvous that nobody named."""
_STEPS_MAX: Final = 0xFFFF_FFF0
"""Slurm's own steps lie over it: the batch script, a shell that salloc opens."""
_LAUNCHED: Final = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
)
"""Before Slurm's, which the daemons that mpirun starts on other nodes hand on to their ranks."""
_POD: Final = re.compile(
    r"(?P<job>.+)-(?:master|worker|chief|ps|evaluator|server|launcher)-(?P<index>\d+)\Z"
)
"""Pods of Kubeflow's jobs: of the job, its role, and which one."""
_SUFFIX: Final = r"(?:-[a-z0-9]{5})?\Z"
"""What Kubernetes adds to the name of a pod, and not to its host name."""
_LOOPBACK: Final = re.compile(r"localhost|127\.|0\.0\.0\.0\Z|\[?::1?\]?\Z")
_JOB_ID_MAX_CHARS: Final = 200
_RANK_MAX: Final = 10**7


@dataclass(frozen=True, slots=True, kw_only=True)
class JobIdentity:
    """Each None if the environment does not say."""

    job_id: str | None = None
    rank: int | None = None
    world_size: int | None = None


def job_identity(environ: Mapping[str, str]) -> JobIdentity:
    """Read torchrun's, Slurm's, PBS's, LSF's, MPI's and Kubernetes' variables."""
    rank, world_size = _place(environ)
    ids = _job_ids(environ, rank, world_size)
    job_id = next((text for text in map(_text, ids) if text), None)
    return JobIdentity(job_id=job_id, rank=rank, world_size=world_size)


def _place(environ: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Rank and size of the world, of the nearest source that tells a rank."""
    for rank_name, world_name in _sources(environ):
        rank = _count(environ, rank_name, least=0)
        world_size = _count(environ, world_name, least=1)
        if rank is not None and (world_size is None or rank < world_size):
            return rank, world_size
    return None, None


def _sources(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if "PET_NODE_RANK" in environ and _ELASTIC not in environ:
        # One torchrun a pod; WORLD_SIZE beside it may count the workers that it will start.
        yield "PET_NODE_RANK", "PET_NNODES"
    yield from _LAUNCHED
    if _slurm_step(environ) is not None:
        yield "SLURM_PROCID", _step_tasks(environ)
    yield "JOB_COMPLETION_INDEX", ""


def _job_ids(environ: Mapping[str, str], rank: int | None, world_size: int | None) -> Iterator[str]:
    """What names the job, the same for each of its ranks and for no other job's; best first."""
    named = environ.get(_ELASTIC, "")
    meeting = "" if named in _UNNAMED else named
    for job in _scheduled(environ, world_size):
        yield f"{job}/{meeting}" if job and meeting not in {"", job} else job
    yield meeting
    yield _kubernetes_job(environ, rank)
    if rank is not None:
        yield _meeting_place(environ)
        yield environ.get("PMIX_NAMESPACE", "")


def _scheduled(environ: Mapping[str, str], world_size: int | None) -> Iterator[str]:
    """As each scheduler writes it."""
    yield _slurm_job(environ, world_size)
    yield environ.get("PBS_JOBID", "")
    yield _with_task(environ, "LSB_JOBID", "LSB_JOBINDEX", "{}[{}]", ("", "0"))
    yield _with_task(environ, "JOB_ID", "SGE_TASK_ID", "{}.{}", ("", "undefined"))


def _slurm_job(environ: Mapping[str, str], world_size: int | None) -> str:
    """ARRAY_TASK or JOB, and JOB.STEP where the ranks are the step's tasks.

    They are not where srun was asked for each node by itself, or by mpirun for its daemons.
    """
    array_id, task = environ.get("SLURM_ARRAY_JOB_ID"), environ.get("SLURM_ARRAY_TASK_ID")
    job = f"{array_id}_{task}" if array_id and task else environ.get("SLURM_JOB_ID", "")
    step = _slurm_step(environ)
    own = step is not None and world_size == _count(environ, _step_tasks(environ), least=1)
    return f"{job}.{step}" if job and own else job


def _slurm_step(environ: Mapping[str, str]) -> int | None:
    """The step that srun started; None in a batch script, which is handed a SLURM_PROCID too."""
    value = environ.get("SLURM_STEP_ID", environ.get("SLURM_STEPID", ""))
    known = value.isascii() and value.isdigit() and int(value[:12]) < _STEPS_MAX
    return int(value[:12]) if known else None


def _step_tasks(environ: Mapping[str, str]) -> str:
    """The variable that says how many tasks the step has."""
    return "SLURM_STEP_NUM_TASKS" if "SLURM_STEP_NUM_TASKS" in environ else "SLURM_NTASKS"


def _with_task(
    environ: Mapping[str, str], job: str, task: str, shape: str, none: Sequence[str]
) -> str:
    number, index = environ.get(job, ""), environ.get(task, "")
    return shape.format(number, index) if number and index not in none else number


def _kubernetes_job(environ: Mapping[str, str], rank: int | None) -> str:
    """What the names of a job's pods have in common; a pod that is one of none has no job."""
    if not environ.get("KUBERNETES_SERVICE_HOST"):
        return ""
    space = environ.get("POD_NAMESPACE", "")
    for variable in ("POD_NAME", "HOSTNAME"):
        if job := _of_pods(environ, environ.get(variable, ""), rank):
            return f"{space}/{job}" if space else job
    return ""


def _of_pods(environ: Mapping[str, str], pod: str, rank: int | None) -> str:
    if found := _POD.match(pod):
        return found["job"]
    for index in (environ.get("JOB_COMPLETION_INDEX", ""), "" if rank is None else str(rank)):
        if index.isascii() and index.isdigit():
            found = re.match(rf"(?P<job>.+)-{index}{_SUFFIX}", pod)
            if found:
                return found["job"]
    return ""


def _meeting_place(environ: Mapping[str, str]) -> str:
    """Where the ranks meet; every box has a loopback of its own, so that names none."""
    for prefix in ("PET_", ""):
        address = environ.get(f"{prefix}MASTER_ADDR", "")
        if address and not _LOOPBACK.match(address):
            return f"{address}:{environ.get(f'{prefix}MASTER_PORT', '')}".rstrip(":")
    return ""


def _text(value: str) -> str:
    return "".join(c for c in value if c.isprintable())[:_JOB_ID_MAX_CHARS]


def _count(environ: Mapping[str, str], name: str, *, least: int) -> int | None:
    value = environ.get(name, "")
    if value.isascii() and value.isdigit() and least <= int(value[:9]) <= _RANK_MAX:
        return int(value[:9])
    return None


def fingerprint_parts(argv: Sequence[str], cwd: str, world_size: int | None) -> tuple[str, ...]:
    """What makes two launches the same work, wherever they were typed.

    Paths below the working directory count as relative to it, the program by its file name; the
    digest of these parts is a run's fingerprint.
    """
    below = cwd.rstrip("/") + "/"
    parts = [part.removeprefix(below) for part in argv]
    program = [argv[0].rpartition("/")[2]] if argv else []
    return (*program, *parts[1:], f"world_size={world_size or 1}")
