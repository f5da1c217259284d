"""A training of somebody's own, for tests: steps whose loss is called in every way there is."""

import time

import torch
from torch.utils.checkpoint import checkpoint

FORWARD_S, AGAIN_S = 0.02, 0.03


class Model(torch.nn.Module):
    """One adapted projection in a text part, and one in a tower that text never reaches."""

    def __init__(self):
        super().__init__()
        self.q_proj = torch.nn.Module()
        self.q_proj.base = torch.nn.Linear(8, 8).requires_grad_(requires_grad=False)
        self.q_proj.lora_A = torch.nn.Linear(8, 8, bias=False)
        self.visual = torch.nn.Module()
        self.visual.q_proj = torch.nn.Module()
        self.visual.q_proj.lora_A = torch.nn.Linear(8, 8, bias=False)

    def forward(self, x):
        return self.q_proj.base(x) + self.q_proj.lora_A(x)


def slow(hidden):
    """Take longer when it runs again."""
    again = torch._C._current_graph_task_id() != -1
    time.sleep(AGAIN_S if again else FORWARD_S)
    return hidden.square().mean()


def plain_loss(hidden):
    return slow(hidden)


def chunked_loss(hidden):
    return checkpoint(slow, hidden, use_reentrant=False)


def reentrant_loss(hidden):
    return checkpoint(slow, hidden, use_reentrant=True)


class Losses:
    """A loss that lives in a class."""

    @staticmethod
    def of_class(hidden):
        return slow(hidden)

    def of_object(self, hidden):
        return slow(hidden)


def _factory(loss):
    def factory(width, batch, device):
        model = Model().to(device)
        inputs = torch.ones(batch, width, 8, device=device)

        def step():
            loss(model(inputs)).backward()
            return batch * width

        return step, model

    return factory


def plain(width, batch, device):
    def late(hidden):
        return plain_loss(hidden)  # looked up when it is called, as in any training

    return _factory(late)(width, batch, device)


def chunked(width, batch, device):
    def late(hidden):
        return chunked_loss(hidden)

    return _factory(late)(width, batch, device)


def reentrant(width, batch, device):
    def late(hidden):
        return reentrant_loss(hidden)

    return _factory(late)(width, batch, device)


def in_class(width, batch, device):
    def late(hidden):
        return Losses.of_class(hidden)

    return _factory(late)(width, batch, device)


def of_object(width, batch, device):
    losses = Losses()

    def late(hidden):
        return losses.of_object(hidden)

    return _factory(late)(width, batch, device)


def whole(width, batch, device):
    """Checkpoint the loss itself."""

    def outer(hidden):
        return checkpoint(plain_loss, hidden, use_reentrant=False)

    return _factory(outer)(width, batch, device)


def alone(width, batch, device):
    return _factory(torch.mean)(width, batch, device)[0]


def frozen(width, batch, device):
    step, model = _factory(torch.mean)(width, batch, device)
    model.requires_grad_(requires_grad=False)
    return step, model


def broken(width, batch, device):
    raise ArithmeticError("the user's own fault")


class Layer(torch.nn.Module):
    """Two adapted projections."""

    def __init__(self):
        super().__init__()
        for name in ("q_proj", "v_proj"):
            projection = torch.nn.Module()
            projection.lora_A = torch.nn.Linear(2, 2, bias=False)
            setattr(self, name, projection)

    def forward(self, x):
        return x + self.v_proj.lora_A(self.q_proj.lora_A(x))


def deep(width, batch, device):
    """Adapt more modules than the probe lists."""
    model = torch.nn.Sequential(*(Layer() for _ in range(205))).to(device)
    inputs = torch.ones(batch, width, 2, device=device)

    def step():
        model(inputs).mean().backward()
        return batch * width

    return step, model


def all_linear(model):
    return "all-linear"


def targets(model):
    return ["q_proj", "nowhere"]
