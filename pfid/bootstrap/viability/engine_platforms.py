"""One model asked of an engine under every platform, where its build does not tell which it is for.

A class may be written once a platform. What holds on each of them holds; where they differ nobody
can say which will serve.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from pfid.spec.ports.engine import AdapterFacts, EngineFacts, MappingFacts

DIFFERS: Final = "class_unresolved"
_SUPPORT: Final = {True: "takes adapters", False: "takes none", None: "not seen"}


def common_facts(each: Mapping[str, EngineFacts], why: str) -> EngineFacts:
    """What holds on every platform.

    Args:
        each: facts by platform, those left out that have no class for the model.
        why: there are several.
    """
    if not each:
        return EngineFacts(problem=DIFFERS, detail=why)
    names = ", ".join(each)
    first = next(iter(each.values()))
    problems = {name: one.detail for name, one in each.items() if one.problem}
    if problems:
        apart = len(problems) < len(each) or len(set(problems.values())) > 1
        said = "; ".join(f"{name}: {detail}" for name, detail in problems.items())
        detail = f"{why}; looked at {names}: {said}" if apart else why
        return EngineFacts(problem=DIFFERS, detail=detail, version=first.version)
    lora = {one.lora for one in each.values()}
    return replace(
        first,
        detail=f"{why}; looked at {names}",
        lora=first.lora if len(lora) == 1 else None,
        lora_doubt=first.lora_doubt if len(lora) == 1 else _told(each, lambda f: _SUPPORT[f.lora]),
        mapping=_mapping(each),
        adapter=_adapter(each),
    )


def _mapping(each: Mapping[str, EngineFacts]) -> MappingFacts:
    came = {
        (m.problem, m.walks, m.builds, m.mapped) for m in (one.mapping for one in each.values())
    }
    if len(came) == 1:
        return next(iter(each.values())).mapping
    return MappingFacts(problem=DIFFERS, detail=_told(each, _words), builds=None, mapped=None)


def _words(facts: EngineFacts) -> str:
    mapping = facts.mapping
    if mapping.problem:
        return mapping.problem
    if mapping.mapped:
        return "names of experts are found"
    if mapping.builds is False:
        return "no experts are built"
    return "not seen" if mapping.mapped is None or mapping.builds is None else "no names are found"


def _adapter(each: Mapping[str, EngineFacts]) -> AdapterFacts | None:
    came = [one.adapter for one in each.values()]
    counted = {None if a is None else replace(a, detail="", evidence=()) for a in came}
    if len(counted) == 1:
        return came[0]
    return AdapterFacts(problem=DIFFERS, detail=_told(each, _weights))


def _weights(facts: EngineFacts) -> str:
    adapter = facts.adapter or AdapterFacts()
    lost = adapter.nowhere + adapter.refused + adapter.towers
    return adapter.problem or f"{adapter.bound + adapter.experts} modules bound, {lost} not"


def _told(each: Mapping[str, EngineFacts], words: Callable[[EngineFacts], str]) -> str:
    return "; ".join(f"{name}: {words(facts)}" for name, facts in each.items())
