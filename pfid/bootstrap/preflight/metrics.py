"""The project's metrics, asked in the training interpreter what is already known."""

from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.asked import KnownAnswer, Metric
from pfid.spec.ports.preflight import MetricFacts, MetricsFacts


def metrics_facts(project: Project) -> MetricsFacts | None:
    """Ask every metric; None where the spec names none."""
    if not project.spec.metrics:
        return None
    return MetricsFacts(metrics=tuple(_facts(project, metric) for metric in project.spec.metrics))


def _facts(project: Project, metric: Metric) -> MetricFacts:
    calls = [{"args": c.args, "kwargs": c.kwargs} for c in metric.controls]
    asked = {"function": metric.function, "calls": calls}
    found = project.ask("call_metric", asked, deadline_s=metric.deadline_s)
    expected = tuple(c.expect for c in metric.controls)
    said = found.said
    if said is None or "missing" in said:
        problem = "python_raised" if said is not None else found.problem.value
        detail = str(said["missing"]) if said is not None else found.detail
        last = (detail.strip().splitlines() or [""])[-1]
        return MetricFacts(
            function=metric.function, problem=problem, detail=last, expected=expected
        )
    answers = list(said["answers"])
    strange = [a for a in answers if isinstance(a, str)]
    return MetricFacts(
        function=metric.function,
        problem="no_answer" if strange else "",
        detail=strange[0] if strange else "",
        wrong=tuple(
            _words(at, control, answer)
            for at, (control, answer) in enumerate(zip(metric.controls, answers, strict=True))
            if not isinstance(answer, str) and not _is_right(control, answer)
        ),
        answers=tuple(float(a) for a in answers if not isinstance(a, str)),
        expected=expected,
    )


def _is_right(control: KnownAnswer, answer: float) -> bool:
    return abs(answer - control.expect) <= control.tolerance


def _words(at: int, control: KnownAnswer, answer: float) -> str:
    return f"input {at + 1}: {answer:g}, not {control.expect:g}"
