"""Whether the serving path of a base was really tried: the subject of one check."""

from dataclasses import dataclass

from pfid.domain.serving import ServingEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedFacts:
    """Proofs of the serving path that lie there, and the newest that counts.

    Attributes:
        problem: why none can be looked for: a code, "" where there is none.
        detail: words about that, for the owner alone.
        shape: what shall be served: ``adapter`` or ``merged``.
        declared: whether somebody said so; else it is told by what is trained.
        found: proofs of this model in this shape, whatever the version.
        other_shape: proofs of this model in another shape.
        other_model: proofs of the same architecture with another configuration.
        end: how the newest that counts came out; None if there is none.
        engine: that it was made with, and its version.
        now: version that is installed now; "" if nobody can tell.
        same_engine: whether that is the one of the proof; None if nobody can tell.
        log_changed: whether its log is another than was recorded.
        log_gone: whether its log cannot be read any more, so that nobody can tell.
        age_s: of it; negative where a clock was set back.
        ready_s: how long the engine took to answer; 0 if it never did.
        error: the engine's own words, for the owner alone.
    """

    problem: str = ""
    detail: str = ""
    shape: str = "merged"
    declared: bool = True
    found: int = 0
    other_shape: int = 0
    other_model: int = 0
    end: ServingEnd | None = None
    engine: str = ""
    now: str = ""
    same_engine: bool | None = None
    log_changed: bool = False
    log_gone: bool = False
    age_s: float = 0.0
    ready_s: float = 0.0
    error: tuple[str, ...] = ()
