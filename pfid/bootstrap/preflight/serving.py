"""The project's own proof of its serving path, really tried."""

from pfid.bootstrap.preflight.own_command import run_own
from pfid.bootstrap.preflight.project import Project
from pfid.spec.ports.preflight import ServingFacts


def serving_facts(project: Project) -> ServingFacts | None:
    """Run the command; None where the spec names none."""
    serving = project.spec.serving
    if serving is None:
        return None
    done = run_own(project, serving.command, serving.deadline_s)
    if isinstance(done, str):
        return ServingFacts(problem="not_started", detail=done)
    if done.hung:
        return ServingFacts(problem="serving_hung", detail=done.last_line())
    if done.signal is not None or done.overflowed:
        return ServingFacts(problem="serving_crashed", detail=done.last_line())
    return ServingFacts(refused=done.exit_code != 0, detail=done.last_line())
