"""What the scheduler's environment says about a run, so that rules can join boxes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_JOB_IDS: Final = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "TORCHELASTIC_RUN_ID")
_RANKS: Final = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_WORLDS: Final = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
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
    return JobIdentity(
        job_id=_job_id(environ),
        rank=_rank(environ),
        world_size=_first_count(environ, _WORLDS, least=1),
    )


def _rank(environ: Mapping[str, str]) -> int | None:
    """RANK as torch sets it; Kubernetes' index only where an index means a rank."""
    rank = _first_count(environ, _RANKS, least=0)
    return rank if rank is not None else _first_count(environ, ("JOB_COMPLETION_INDEX",), least=0)


def _job_id(environ: Mapping[str, str]) -> str | None:
    array_id, task = environ.get("SLURM_ARRAY_JOB_ID"), environ.get("SLURM_ARRAY_TASK_ID")
    if array_id and task:
        return _text(f"{array_id}_{task}")
    for variable in _JOB_IDS:
        value = environ.get(variable, "")
        if value and value != "none":  # torchrun's default rendezvous id
            return _text(value)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return _text(environ.get("POD_NAME") or environ.get("HOSTNAME", "")) or None
    return None


def _text(value: str) -> str:
    return "".join(c for c in value if c.isprintable())[:_JOB_ID_MAX_CHARS]


def _first_count(environ: Mapping[str, str], names: Sequence[str], *, least: int) -> int | None:
    for name in names:
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
