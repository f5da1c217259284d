"""By how much an adapter's product is multiplied, as PEFT reads it out of its configuration."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pfid.formats.linear_regex import PatternError, compile_utf8

_PLAIN_STARTS: Final = (True, False, None, "gaussian", "eva")
"""Ways to begin that leave the base as it is; the others take from it what they begin with."""
_OTHER_ARITHMETIC: Final = (
    *("use_qalora", "alora_invocation_tokens", "arrow_config", "use_bdlora"),
    *("kasa_config", "velora_config", "monteclora_config"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterScale:
    """What the configuration says of it.

    Attributes:
        alpha: of every module that has none of its own; None if it is not told.
        alphas: of modules by patterns of their ends.
        rank: of every module that has none of its own; 0 if it is not told.
        ranks: of modules by patterns of their ends.
        by_root: whether alpha is divided by the root of the rank, and not by the rank.
        tokens: rows of an embedding that were trained alone, by the embedding's name; by "" where
            the configuration does not name it.
        untold: why amounts cannot be told, "" where they can.
    """

    alpha: float | None = None
    alphas: Mapping[str, float] = field(default_factory=dict)
    rank: int = 0
    ranks: Mapping[str, int] = field(default_factory=dict)
    by_root: bool = False
    tokens: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    untold: str = ""

    def experts_of(self, module: str, rows: int) -> int:
        """How many are stacked in a module whose first factor has so many rows."""
        rank = next((r for key, r in self.ranks.items() if _fits(key, module)), self.rank)
        return rows // rank if rank > 0 and rows % rank == 0 else 1

    def tokens_of(self, module: str) -> tuple[int, ...]:
        """Rows of a module that were trained alone, in the order in which they are kept."""
        named = (rows for name, rows in self.tokens.items() if not name or module.endswith(name))
        return next(named, ())

    def of(self, module: str, rank: int) -> float | None:
        """The factor of one module; None if it is not told.

        Args:
            module: its path, without the prefix of PEFT.
            rank: of its factors.
        """
        alpha = next((a for key, a in self.alphas.items() if _fits(key, module)), self.alpha)
        if alpha is None or rank < 1:
            return None
        return alpha / (math.sqrt(rank) if self.by_root else rank)


def adapter_scale(configured: Mapping[str, Any]) -> AdapterScale:
    """Read it."""
    alphas = _table(configured.get("alpha_pattern"))
    alpha = configured.get("lora_alpha")
    return AdapterScale(
        alpha=_number(alpha),
        alphas={k: found for k, a in alphas.items() if (found := _number(a)) is not None},
        rank=_rank(configured.get("r")),
        ranks={key: _rank(r) for key, r in _table(configured.get("rank_pattern")).items()},
        by_root=configured.get("use_rslora") is True,
        tokens=_tokens(configured.get("trainable_token_indices")),
        untold=_untold(configured),
    )


def _tokens(said: object) -> Mapping[str, tuple[int, ...]]:
    listed = said if isinstance(said, dict) else {"": said}
    return {
        str(name): tuple(row for row in rows if isinstance(row, int))
        for name, rows in listed.items()
        if isinstance(rows, list)
    }


def _untold(configured: Mapping[str, Any]) -> str:
    kind = configured.get("peft_type")
    if kind != "LORA":
        return f"the adapter is of {kind or 'no kind that its configuration tells'}, and not LORA"
    start = configured.get("init_lora_weights", True)
    if not any(start is plain or start == plain for plain in _PLAIN_STARTS):
        return f"init_lora_weights {start} changed the base before training"
    other = [name for name in _OTHER_ARITHMETIC if configured.get(name)]
    if other:
        return f"{other[0]} makes other products"
    alpha = _number(configured.get("lora_alpha"))
    return "lora_alpha is not told" if alpha is None else ""


def _table(said: object) -> Mapping[str, Any]:
    return {key: value for key, value in said.items() if key} if isinstance(said, dict) else {}


def _rank(said: object) -> int:
    return said if isinstance(said, int) and not isinstance(said, bool) and said > 0 else 0


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) else None


def _fits(key: str, module: str) -> bool:
    """A key is a pattern of a path's end; one that cannot be read fits nothing."""
    try:
        pattern = compile_utf8(rf"^(?:.*\.)?(?:{key})$")
    except PatternError:
        return False
    return pattern.search(module.encode("utf-8", "replace")) is not None
