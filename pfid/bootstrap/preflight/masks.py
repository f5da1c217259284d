"""The attention masks of the model that the spec names."""

from pfid.bootstrap.masks import DEADLINE_S, report_of
from pfid.bootstrap.preflight.project import Project
from pfid.formats.mask_report import MaskReportError
from pfid.spec.ports.masks import MaskFacts


def mask_facts(project: Project) -> MaskFacts | None:
    """Have the training interpreter make them; None where the spec names no model."""
    masks = project.spec.attention_mask
    if masks is None:
        return None
    place = project.path(masks.model)
    asked = {
        "model": str(place) if place.exists() else masks.model,
        "attention": [masks.attention] if masks.attention else None,
        "width": None,
    }
    answer = project.ask("mask", asked, deadline_s=DEADLINE_S)
    try:
        report = report_of(answer, project.spec.python)
    except MaskReportError as error:
        return MaskFacts(problem=error.reason or "no_masks", detail=str(error))
    return MaskFacts(attention=masks.attention, report=report)
