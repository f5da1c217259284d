"""Steps every optimizer of torch and prints what came of it: parameters and random state.

    stock_optimizers.py STEPS BACKEND [NAME...]

Each steps eagerly, and with its model and its step compiled by the backend; one that compiles as a
whole also has to. Named ones alone, if any are named.
"""

import hashlib
import sys
import warnings

import torch
from torch import optim

OPTIMIZERS = {
    "SGD": {"lr": 0.01, "momentum": 0.9},
    "Adam": {},
    "AdamW": {},
    "Adagrad": {},
    "RMSprop": {},
    "NAdam": {},
    "RAdam": {},
    "Rprop": {},
    "ASGD": {},
    "Adadelta": {},
    "Adamax": {},
    "Adafactor": {},
    "Muon": {},
    "LBFGS": {"max_iter": 3},
    "SparseAdam": {},
}


class Halving(optim.Optimizer):
    """A user's own, which dynamo compiles as a whole."""

    def __init__(self, params, lr=0.01):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, _closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])


def made(name, compiled):
    """A small model, its optimizer and a closure that computes a loss with some randomness."""
    torch.manual_seed(7)
    sparse = name == "SparseAdam"
    model = torch.nn.Embedding(16, 8, sparse=True) if sparse else torch.nn.Linear(8, 8, bias=False)
    kind = Halving if name == "Halving" else getattr(optim, name)
    optimizer = kind(model.parameters(), **OPTIMIZERS.get(name, {}))
    called = model if sparse else compiled(model)

    def closure():
        optimizer.zero_grad()
        given = torch.randint(0, 16, (4,)) if sparse else torch.randn(4, 8)
        loss = called(given).pow(2).mean()
        loss.backward()
        return loss

    return model, optimizer, closure


def train(name, steps, mode, backend):
    """Digest of the parameters and of the random state after so many steps."""

    def compiled(what):
        whole = mode == "fullgraph"
        return what if mode == "eager" else torch.compile(what, backend=backend, fullgraph=whole)

    model, optimizer, closure = made(name, compiled)
    step = compiled(optimizer.step)
    for _ in range(steps):
        if name == "LBFGS":
            step(closure)
        else:
            closure()
            step()
    state = hashlib.sha256(model.weight.detach().numpy().tobytes())
    state.update(torch.get_rng_state().numpy().tobytes())
    return state.hexdigest()[:16]


def main():
    steps, backend, *chosen = sys.argv[1:]
    names = chosen or [*(name for name in OPTIMIZERS if hasattr(optim, name)), "Halving"]
    asked = [(name, mode) for mode in ("eager", "compiled") for name in names]
    for name, mode in [*asked, ("Halving", "fullgraph")]:
        torch._dynamo.reset()
        digest = train(name, int(steps), mode, backend)
        stats = torch._dynamo.utils.counters["stats"]
        sys.stdout.write(f"{name} {mode} {digest} {stats['unique_graphs']}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
