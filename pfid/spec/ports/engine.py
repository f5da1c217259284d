"""What an installed inference engine would do with a model and with adapters on it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingFacts:
    """The names of experts, which an engine needs before it takes any adapter on a MoE model.

    Attributes:
        problem: why the engine's rule is not known: a code, "" where it is.
        detail: words about that.
        walks: whether the engine walks every module; else the class and its children decide.
        builds: whether the class builds experts in the engine's eyes; None if nobody can say.
        mapped: whether the rule finds the names; None if nobody can say.
        asked: classes that the rule asks for the names, by module, and whether each has an answer.
        evidence: what was seen: the rule, what builds, what provides, what could not be followed.
    """

    problem: str = ""
    detail: str = ""
    walks: bool = False
    builds: bool | None = True
    mapped: bool | None = True
    asked: tuple[tuple[str, str, bool], ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterFacts:
    """An adapter's weights held against the engine's modules, counted by module.

    Attributes:
        problem: why they were not: a code, "" where they were.
        detail: words about that.
        bound: modules that are there and take adapters.
        experts: modules among fused experts.
        towers: modules outside the language model, where adapters are left out.
        nowhere: modules that the engine does not have and does not speak of.
        refused: modules for which the engine refuses the adapter.
        unseen: modules of which nobody can say.
        evidence: a few of each.
    """

    problem: str = ""
    detail: str = ""
    bound: int = 0
    experts: int = 0
    towers: int = 0
    nowhere: int = 0
    refused: int = 0
    unseen: int = 0
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """One engine asked about one model.

    Attributes:
        problem: why it could not be asked: a code, "" where it could.
        detail: words about that.
        version: of the engine, "" if it does not say.
        class_name: that serves the model.
        order: that class and its bases in order of lookup.
        lora: whether the class supports adapters; None if nobody can say.
        lora_doubt: why nobody can say.
        mapping: of experts.
        adapter: that was given; None without one.
        confirmed: whether the running engine said the same; None if it was not asked or cannot run.
        confirmation: its words, or why there are none.
    """

    problem: str = ""
    detail: str = ""
    version: str = ""
    class_name: str = ""
    order: tuple[str, ...] = ()
    lora: bool | None = True
    lora_doubt: str = ""
    mapping: MappingFacts = field(default_factory=MappingFacts)
    adapter: AdapterFacts | None = None
    confirmed: bool | None = None
    confirmation: str = ""
