"""A real training loop in plain torch, one JSON line a step: small, steady, and it goes on."""

import argparse
import json
import sys
import time

import torch


def main(argv: list[str]) -> None:
    """Train a small network on random data, at least ``--seconds`` a step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=1_000_000)
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, options.steps + 1):
        began_s = time.monotonic()
        x = torch.randn(64, 32)
        loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(max(options.seconds - (time.monotonic() - began_s), 0.0))
        took_s = time.monotonic() - began_s
        line = {"step": step, "loss": float(loss.detach()), "seconds": took_s}
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
