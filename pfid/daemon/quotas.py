"""How much of the daemon one user may take up; root is not counted, nor an engine's one user."""

from pfid.daemon.core import Core
from pfid.daemon.messages import Asked
from pfid.daemon.refusal import ROOT_UID, RefusalError


def within_quota(core: Core, uid: int, descriptors: int, asked: Asked) -> None:
    """Let one run more be watched, with so many descriptors more.

    Raises:
    RefusalError: naming the quota that is used up.
    """
    if asked.uid == ROOT_UID or core.embedded:
        return
    quotas = core.config.quotas
    own = [r for r in core.living() if r.run.uid == uid]
    held = sum(1 + sum((s.fd is not None) + len(s.successors) for s in r.streams) for r in own)
    if len(own) + 1 > quotas.runs_per_user:
        raise RefusalError(
            "quota",
            f"{len(own)} runs of this user are watched; {quotas.runs_per_user} are allowed",
            "wait for some to end, or have quotas.runs_per_user raised",
        )
    if held + descriptors > quotas.descriptors_per_user:
        raise RefusalError(
            "quota",
            f"{held} descriptors of this user are held; {quotas.descriptors_per_user} are allowed",
            "hand over fewer files, or have quotas.descriptors_per_user raised",
        )
