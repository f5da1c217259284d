"""What the parts of an evaluation of an engine's source share."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pfid.formats.engine_source.frames import STEPS_MAX, Call, Frame, TooLargeError
from pfid.formats.engine_source.values import Made, Method, ModelConfig, Value, Values
from pfid.formats.python_source.lookup import Lineages
from pfid.formats.python_source.names import ClassRef, Names, Target, ValueRef

ABSENT: Final = object()
"""What a configuration does not have."""


class Core(ABC):
    """What the parts of an evaluation share and ask of each other."""

    def __init__(
        self,
        lineages: Lineages,
        config: Mapping[str, Any],
        registered: Callable[[str], ClassRef | None],
    ) -> None:
        """Nothing is run yet.

        Args:
            lineages: of the engine's tree.
            config: the model's configuration.
            registered: the class of an architecture, None if the registry has none.
        """
        self.lineages = lineages
        self.names: Names = lineages.names
        self._config = config
        self._registered = registered
        self._steps = 0
        self._depth = 0
        self._under_way: dict[int, list[tuple[Made | None, dict[str, Values]]]] = {}
        self._built: dict[Made, dict[str, Values]] = {}
        self._building: dict[Made, dict[str, Values]] = {}
        self._values: dict[ValueRef, Values] = {}

    def _count(self) -> None:
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise TooLargeError("the class's constructors are too large to follow")

    @abstractmethod
    def _assign(self, target: ast.expr, value: Values, frame: Frame) -> None: ...

    @abstractmethod
    def _attribute_of(self, holders: Values, name: str, frame: Frame) -> Values: ...

    @abstractmethod
    def _bind(
        self, node: ast.FunctionDef | ast.Lambda, frame: Frame, call: Call, *, own: bool
    ) -> None:
        """Give parameters their values; ``own`` if the first is the instance."""

    @abstractmethod
    def _block(self, body: Sequence[ast.stmt], frame: Frame) -> None: ...

    @abstractmethod
    def _call(self, node: ast.Call, frame: Frame) -> Values: ...

    @abstractmethod
    def _call_body(self, body: Sequence[ast.stmt], frame: Frame) -> Values: ...

    @abstractmethod
    def _called(self, callee: Value, call: Call, frame: Frame) -> Values: ...

    @abstractmethod
    def _class_attribute(self, kind: ClassRef, on: Value, name: str) -> Values: ...

    @abstractmethod
    def _gathered(self, node: ast.expr, frame: Frame) -> Values: ...

    @abstractmethod
    def _json(self, path: tuple[str, ...]) -> Any: ...

    @abstractmethod
    def _member(self, owner: ClassRef, node: ast.AST, on: Value) -> Values: ...

    @abstractmethod
    def _name(self, name: str, frame: Frame) -> Values: ...

    @abstractmethod
    def _run_method(self, method: Method, call: Call, caller: Frame | None) -> Values: ...

    @abstractmethod
    def _setting(self, holder: ModelConfig, name: str) -> Values: ...

    @abstractmethod
    def _target(self, found: Target) -> Values: ...

    @abstractmethod
    def attributes(self, made: Made) -> Mapping[str, Values]:
        """Attributes that a constructor gives an instance, by name; ``*`` for what is not seen."""

    @abstractmethod
    def truth(self, node: ast.expr, frame: Frame) -> bool | None:
        """Whether a condition holds; None where the configuration does not decide it."""

    @abstractmethod
    def value(self, node: ast.expr, frame: Frame) -> Values:
        """What an expression may come to."""
