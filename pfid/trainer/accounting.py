"""How many floating-point operations a token costs, and in words what was counted.

Every convention here has been argued about (playbook section 3.8): whether all experts count or
the active ones, whether a frozen base is 4ND or 6ND, whether checkpoint recompute counts at all.
So a figure never goes without its name, and what is recomputed stands apart.
"""

from typing import List, Optional


class Accounting:
    """FLOPs of a training step.

    Args:
        parameters: of the model: N of 6ND. Embeddings that are only looked up cost nothing; leave
            them out if they matter.
        active: parameters that one token passes through, for a mixture of experts.
        frozen: of those that count, how many are not trained. They cost 4 a token, not 6: no
            gradient of a weight is computed.
        checkpointed: whether the forward pass is computed again in the backward pass; those 2 a
            token, and a third of attention's products where they are counted, are told apart and
            are in no other figure.
        attention_layers: layers with full attention, together with ``attention_width``: adds
            12 x layers x width x (width of the batch) a token, a third of it forward. Left out,
            attention's own products are not counted, and the name says so.
        attention_width: heads times head dimension of such a layer.
        peak_flops_per_s: of one device, dense, as its data sheet says it for the data type in use;
            without it there is no MFU.

    Raises:
        ValueError: for figures that cannot be.
    """

    __slots__ = (
        "_again_per_token",
        "_again_per_token_and_width",
        "_per_token",
        "_per_token_and_width",
        "name",
        "peak_flops_per_s",
    )

    def __init__(  # noqa: PLR0913 - each is one of the questions people argue about
        self,
        parameters: float,
        *,
        active: Optional[float] = None,
        frozen: float = 0.0,
        checkpointed: bool = False,
        attention_layers: int = 0,
        attention_width: int = 0,
        peak_flops_per_s: Optional[float] = None,
    ) -> None:
        counted = parameters if active is None else active
        if not 0 < counted <= parameters or not 0 <= frozen <= counted:
            raise ValueError(
                "needs 0 < active <= parameters and 0 <= frozen <= those counted, got "
                "parameters={}, active={}, frozen={}".format(parameters, active, frozen)
            )
        if peak_flops_per_s is not None and not peak_flops_per_s > 0:
            raise ValueError("peak_flops_per_s must be above 0, not {}".format(peak_flops_per_s))
        self._per_token = 6.0 * (counted - frozen) + 4.0 * frozen
        self._per_token_and_width = 12.0 * attention_layers * attention_width
        self._again_per_token = 2.0 * counted if checkpointed else 0.0
        forward = 4.0 * attention_layers * attention_width
        self._again_per_token_and_width = forward if checkpointed else 0.0
        self.peak_flops_per_s = peak_flops_per_s
        self.name = _named(
            counted, frozen, active=active is not None, attention=bool(self._per_token_and_width)
        )

    def flops(self, tokens: float, width: Optional[float] = None) -> float:
        """Of a step over so many tokens, forward and backward once, nothing recomputed."""
        return tokens * (self._per_token + self._per_token_and_width * (width or 0.0))

    def recomputed(self, tokens: float, width: Optional[float] = None) -> float:
        """What checkpointing computes a second time: the whole forward pass, as it is counted."""
        attention = self._again_per_token_and_width * (width or 0.0)
        return tokens * (self._again_per_token + attention)


def _named(counted: float, frozen: float, *, active: bool, attention: bool) -> str:
    which = "active" if active else "dense"
    parts: List[str] = []
    if frozen:
        parts.append("4ND of {:.3g} frozen".format(frozen))
    if counted > frozen:
        parts.append("6ND of {:.3g} trained".format(counted - frozen))
    products = "with attention" if attention else "without attention"
    return "{}, {} parameters, {}".format(" + ".join(parts), which, products)
