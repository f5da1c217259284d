"""The world of a project: every subject is looked at when a check asks for it, and once."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from pfid.adapters.clocks import SystemClock
from pfid.bootstrap.preflight.cache_key import cache_key_facts
from pfid.bootstrap.preflight.cards import cards_facts
from pfid.bootstrap.preflight.declared import declared_facts
from pfid.bootstrap.preflight.figures import figures_facts
from pfid.bootstrap.preflight.kwargs import kwargs_facts
from pfid.bootstrap.preflight.launched import name_facts
from pfid.bootstrap.preflight.manifest import manifest_facts
from pfid.bootstrap.preflight.masks import mask_facts
from pfid.bootstrap.preflight.metrics import metrics_facts
from pfid.bootstrap.preflight.project import Project
from pfid.bootstrap.preflight.rotation import rotation_facts
from pfid.bootstrap.preflight.serving import serving_facts
from pfid.bootstrap.preflight.suite import TestRuns, suite_facts
from pfid.bootstrap.preflight.tree import tree_facts
from pfid.bootstrap.preflight.watchdog import watchdog_facts
from pfid.domain.verdict import Entity, EntityKind
from pfid.spec.world import World

F = TypeVar("F")


class LookedAtOnce(Generic[F]):
    """A subject whose facts are gathered when they are first asked for."""

    def __init__(self, look: Callable[[], F]) -> None:
        """Do not look yet."""
        self._look = look
        self._lock = Lock()
        self._known: list[F] = []

    def facts(self) -> F:
        """Return the facts; an error is raised again for each who asks."""
        with self._lock:
            if not self._known:
                self._known.append(self._look())
            return self._known[0]


def project_world(project: Project, *, tests: TestRuns = TestRuns.WHERE_NEEDED) -> World:
    """Return the world; nothing is looked at yet."""
    return World(
        subject=Entity(EntityKind.PROJECT, project.name),
        clock=SystemClock(),
        git=project.repository,
        python=project.interpreter,
        tree=LookedAtOnce(lambda: tree_facts(project)),
        suite=LookedAtOnce(lambda: suite_facts(project, run=tests)),
        cache_key=LookedAtOnce(lambda: cache_key_facts(project)),
        kwargs=LookedAtOnce(lambda: kwargs_facts(project)),
        declared=LookedAtOnce(lambda: declared_facts(project)),
        rotation=LookedAtOnce(lambda: rotation_facts(project)),
        watchdog=LookedAtOnce(lambda: watchdog_facts(project)),
        metrics=LookedAtOnce(lambda: metrics_facts(project)),
        figures=LookedAtOnce(lambda: figures_facts(project)),
        launched=LookedAtOnce(lambda: name_facts(project)),
        cards=LookedAtOnce(lambda: cards_facts(project)),
        masks=LookedAtOnce(lambda: mask_facts(project)),
        manifest=LookedAtOnce(lambda: manifest_facts(project)),
        serving=LookedAtOnce(lambda: serving_facts(project)),
    )
