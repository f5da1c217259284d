"""A training step small enough for two CPU cores, for those who have none of their own to show.

One attention block written out (so that its cost grows with the square of the width) and one MLP,
forward and backward. Not a model of anything: it shows that the probe works.
"""

from typing import Any, Callable

CHANNELS = 64
HEADS = 4
LAYERS = 2


def step_factory(width: int, batch: int, device: str) -> Callable[[], None]:
    """Make one step of a micro-batch of this shape."""
    import torch

    torch.manual_seed(0)
    model = _stack(torch).to(device)
    inputs = torch.randn(batch, width, CHANNELS, device=device)

    def step() -> None:
        model(inputs).square().mean().backward()
        model.zero_grad(set_to_none=True)

    return step


def _stack(torch: Any) -> Any:
    class Block(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.mix = torch.nn.Linear(CHANNELS, 3 * CHANNELS)
            self.mlp = torch.nn.Sequential(
                torch.nn.Linear(CHANNELS, 4 * CHANNELS),
                torch.nn.GELU(),
                torch.nn.Linear(4 * CHANNELS, CHANNELS),
            )

        def forward(self, x: Any) -> Any:
            batch, width, _ = x.shape
            query, key, value = (
                part.view(batch, width, HEADS, -1).transpose(1, 2)
                for part in self.mix(x).chunk(3, dim=-1)
            )
            scores = (query @ key.transpose(-2, -1)) * (CHANNELS // HEADS) ** -0.5
            seen = scores.softmax(dim=-1) @ value
            x = x + seen.transpose(1, 2).reshape(batch, width, CHANNELS)
            return x + self.mlp(x)

    return torch.nn.Sequential(*(Block() for _ in range(LAYERS)))
