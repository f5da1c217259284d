"""The installed engine asked about a model: by its source, and by itself where it can be run."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from pfid.adapters.adapter_files import read_adapter
from pfid.adapters.engine_files import EngineFiles, find_engine, replacing
from pfid.adapters.source_tree import SourceTree
from pfid.bootstrap.viability.candidate import Candidate
from pfid.bootstrap.viability.engine_platforms import DIFFERS, common_facts
from pfid.formats.engine_source.adapter_keys import AdapterKeys, Fate
from pfid.formats.engine_source.engine import (
    EngineSource,
    EngineSourceError,
    experts_of,
    keys_of,
)
from pfid.formats.engine_source.expert_rule import ExpertRule
from pfid.formats.engine_source.module_tree import ModuleTree
from pfid.formats.engine_source.platforms import PLATFORMS, built_for
from pfid.spec.ports.engine import AdapterFacts, EngineFacts, MappingFacts
from pfid.spec.ports.python import PythonAnswer
from pfid.spec.ports.viability import ModelFacts

PACKAGES: Final = {"vllm": "vllm"}
"""Engines whose source is understood, and the package of each."""
LOOK_S: Final = 30.0
IMPORT_S: Final = 120.0
DOUBTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The engine and what is asked of it."""

    files: EngineFiles
    package: str
    architectures: tuple[str, ...]
    config: Mapping[str, Any]


def engine_facts(candidate: Candidate, model: ModelFacts) -> EngineFacts | None:
    """Ask; None where no engine is named."""
    named = candidate.engine
    if named is None:
        return None
    package = PACKAGES[named.name]
    files = _look(candidate, package)
    if isinstance(files, EngineFacts):
        return files
    if files.folder is None:
        detail = f"no {package} with a model_executor lies there"
        return EngineFacts(problem="engine_not_found", detail=detail)
    shape = model.shape
    found = _Found(
        files=files,
        package=package,
        architectures=shape.classes if shape is not None else (),
        config=candidate.files.config or {},
    )
    facts = _confirmed(_by_source(candidate, found), candidate, found)
    return _unless_replaced(facts, files.plugins)


def _unless_replaced(facts: EngineFacts, plugins: tuple[str, ...]) -> EngineFacts:
    """Source alone does not tell what plugins put in place; the running engine does."""
    if not plugins or facts.confirmed is not None or facts.problem == "engine_not_found":
        return facts
    said = f"plugins are installed: {', '.join(plugins[:5])}"
    return EngineFacts(
        problem="plugins_may_replace",
        detail=said,
        version=facts.version,
        confirmation=facts.confirmation,
    )


def _look(candidate: Candidate, package: str) -> EngineFiles | EngineFacts:
    named = candidate.engine
    if named is None or not named.python:
        return find_engine(named.path if named and named.path else Path(), package)
    answer = candidate.engine_interpreter.ask(
        "engine_where", {"engine": package}, deadline_s=LOOK_S
    )
    if answer.said is None:
        return EngineFacts(problem=answer.problem.value, detail=_last_line(answer.detail))
    said = answer.said
    if said.get("problem"):
        return EngineFacts(problem="engine_not_found", detail=str(said.get("detail", "")))
    files = find_engine(Path(str(said["folder"])), package)
    points = [(str(p[0]), str(p[1]), str(p[2]), str(p[3])) for p in said["plugins"]]
    return replace(
        files,
        version=files.version or str(said["version"]),
        built=str(said["version"]),
        plugins=tuple(dict.fromkeys(replacing(points, package))),
    )


def _by_source(candidate: Candidate, found: _Found) -> EngineFacts:
    """The class that serves may be another on each platform; the build tells which it is for."""
    tree = SourceTree(found.files.folder or Path(), found.package)
    told, on = built_for(found.files.built), partial(_on, candidate, found, tree)
    try:
        EngineSource(found.package, tree.module).serving(found.architectures)
    except EngineSourceError as error:
        if error.reason != DIFFERS:
            return _problem(error, found)
        if told:
            facts = _kept(on, told, found)
            said = f"{error}; this build is for {told}"
            return facts if facts.problem else replace(facts, detail=said)
        return common_facts(dict(_each(on, found)), str(error))
    return _kept(on, told, found)


def _problem(error: EngineSourceError, found: _Found) -> EngineFacts:
    return EngineFacts(problem=error.reason, detail=str(error), version=found.files.version)


def _kept(on: Callable[[str], EngineFacts], platform: str, found: _Found) -> EngineFacts:
    try:
        return on(platform)
    except EngineSourceError as error:
        return _problem(error, found)


def _each(on: Callable[[str], EngineFacts], found: _Found) -> Iterator[tuple[str, EngineFacts]]:
    """Facts by platform, but for those on which there is no class for the model."""
    for platform in PLATFORMS:
        try:
            yield platform, on(platform)
        except EngineSourceError as error:
            if not error.absent:
                yield platform, _problem(error, found)


def _on(candidate: Candidate, found: _Found, tree: SourceTree, platform: str) -> EngineFacts:
    """What is so under one platform, "" for any.

    Raises:
        EngineSourceError: if the source does not tell which class serves.
    """
    source = EngineSource(found.package, tree.module, platform)
    served = source.serving(found.architectures)
    rule = source.rule()
    modules = source.model(served, found.config)
    lora = source.lora(served)
    return EngineFacts(
        version=found.files.version,
        class_name=served.name,
        order=source.order(served).names,
        lora=lora.supported,
        lora_doubt=lora.doubt,
        mapping=_mapping(modules, rule),
        adapter=_adapter(candidate, modules, rule),
    )


def _mapping(modules: ModuleTree, rule: ExpertRule) -> MappingFacts:
    if rule.problem:
        return MappingFacts(problem="rule_unknown", detail=rule.problem, builds=None, mapped=None)
    looked = f"{rule.source} looks at: {', '.join(sorted(rule.looks))}"
    try:
        found = experts_of(modules, rule)
    except EngineSourceError as error:
        return MappingFacts(
            problem=error.reason, detail=str(error), walks=rule.walks, evidence=(looked,)
        )
    said = [looked]
    said += [f"experts are built: {found.built}"] if found.built else []
    said += [f"the mapping is given by {found.provider}"] if found.provider else []
    if found.mapped is None or found.builds is None:
        said += [f"not seen: {doubt}" for doubt in found.doubts[:DOUBTS]]
    return MappingFacts(
        walks=rule.walks,
        builds=found.builds,
        mapped=found.mapped,
        asked=found.asked,
        evidence=tuple(said),
    )


def _adapter(candidate: Candidate, modules: ModuleTree, rule: ExpertRule) -> AdapterFacts | None:
    named = candidate.engine
    if named is None or named.adapter is None:
        return None
    files = read_adapter(named.adapter)
    if files.problem:
        return AdapterFacts(problem=files.problem, detail=files.detail)
    try:
        return _counted(keys_of(modules, rule, files.keys))
    except EngineSourceError as error:
        return AdapterFacts(problem=error.reason, detail=str(error))


def _counted(keys: AdapterKeys) -> AdapterFacts:
    count = {fate: keys.counted.get(fate, 0) for fate in Fate}
    shown = (Fate.REFUSED, Fate.NOWHERE, Fate.TOWER, Fate.UNSEEN, Fate.EXPERTS, Fate.BOUND)
    lines = [f"{fate.value}: {text}" for fate in shown for text in keys.examples.get(fate, ())]
    return AdapterFacts(
        bound=count[Fate.BOUND],
        experts=count[Fate.EXPERTS],
        towers=count[Fate.TOWER],
        nowhere=count[Fate.NOWHERE],
        refused=count[Fate.REFUSED],
        unseen=count[Fate.UNSEEN],
        evidence=tuple(lines),
    )


def _confirmed(facts: EngineFacts, candidate: Candidate, found: _Found) -> EngineFacts:
    """Let the engine itself say it, where it can be imported."""
    named = candidate.engine
    if named is None or not named.python or not facts.class_name:
        return facts
    givers = facts.mapping.asked
    asked = {
        "engine": found.package,
        "architectures": list(found.architectures),
        "providers": [(module, name) for module, name, _ in givers],
    }
    answer = candidate.engine_interpreter.ask("engine_class", asked, deadline_s=IMPORT_S)
    said = answer.said
    if said is None or said.get("problem"):
        return replace(facts, confirmation=_why_not(answer))
    order = [name for name in said["order"] if name in facts.order]
    same = (
        said["class"] == facts.class_name
        and order == list(facts.order)
        and (facts.lora is None or bool(said["lora"]) is facts.lora)
    )
    has = dict(zip(givers, said["mapping"], strict=True))
    other = [name for (_, name, told), runs in has.items() if runs not in {None, told}]
    same = same and not other
    word = "the same" if same else "otherwise"
    told = f"the engine was imported and says {word}: {said['class']}, adapters {said['lora']}"
    told += _named("names of experts from", [n for (_, n, _), runs in has.items() if runs])
    told += _named("as its source does not say of", other)
    return replace(facts, confirmed=same, confirmation=told)


def _named(words: str, names: list[str]) -> str:
    return f", {words} {', '.join(names[:DOUBTS])}" if names else ""


def _why_not(answer: PythonAnswer) -> str:
    said = answer.said or {}
    why = str(said.get("detail") or "") or _last_line(answer.detail) or answer.problem.value
    return f"read from its source alone; it was not imported: {why}"


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""
