"""Whether what will be trained can be served: by a proof that is kept, else by a command, tried."""

from pathlib import Path
from typing import Final

from pfid.bootstrap.preflight.own_command import run_own
from pfid.bootstrap.preflight.project import Project
from pfid.bootstrap.viability.proven_parts import model_in
from pfid.bootstrap.viability.served import served_facts
from pfid.config.preflight.launched import Serving
from pfid.domain.serving import ServingEnd, Shape
from pfid.formats.engine_command import read_engine_command
from pfid.spec.ports.preflight import ServingFacts
from pfid.spec.ports.served import ServedFacts

DAY_S: Final = 86_400.0


def serving_facts(project: Project) -> ServingFacts | None:
    """Look for a proof, else run the command; None where the spec names neither."""
    serving = project.spec.serving
    if serving is None:
        return None
    known = _kept(project, serving)
    if known is not None and (not known.problem or not serving.command):
        return known
    if not serving.command:
        return ServingFacts(problem="not_proven", detail="pfid viability prove-serving -- CMD...")
    return _tried(project, serving)


def _kept(project: Project, serving: Serving) -> ServingFacts | None:
    """What the newest proof says; None where there is none."""
    model = _model(project, serving)
    if model is None:
        return None
    return _of_proof(served_facts((model,), _shape(serving), project.environ))


def _model(project: Project, serving: Serving) -> Path | None:
    mask = project.spec.attention_mask
    named = serving.model or (mask.model if mask is not None and not serving.command else "")
    if named:
        return project.folder / named
    return model_in(serving.command, str(project.folder))


def _shape(serving: Serving) -> Shape:
    if serving.serves:
        return Shape(serving.serves)
    return read_engine_command(serving.command).shape if serving.command else Shape.ADAPTER


def _of_proof(served: ServedFacts) -> ServingFacts | None:
    if served.end is None:
        return None
    about = f"{served.engine}, {served.age_s / DAY_S:.0f} days ago"
    if served.same_engine is False:
        return ServingFacts(problem="other_version", detail=f"{about}; now {served.now or '?'}")
    gone = served.log_gone and served.end is ServingEnd.READY
    if served.log_changed or gone or served.same_engine is None:
        return ServingFacts(problem="proof_doubtful", detail=about)
    said = "; ".join((about, *served.error[:2]))
    return ServingFacts(proven=True, refused=served.end is not ServingEnd.READY, detail=said)


def _tried(project: Project, serving: Serving) -> ServingFacts:
    done = run_own(project, serving.command, serving.deadline_s)
    if isinstance(done, str):
        return ServingFacts(problem="not_started", detail=done)
    if done.hung:
        return ServingFacts(problem="serving_hung", detail=done.last_line())
    if done.signal is not None or done.overflowed:
        return ServingFacts(problem="serving_crashed", detail=done.last_line())
    return ServingFacts(refused=done.exit_code != 0, detail=done.last_line())
