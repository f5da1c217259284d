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


GIVEN, REST_S, LATE_S = torch.nn.Parameter(torch.ones(8, 16)), 0.2, 0.05


class Late(torch.autograd.Function):
    """A loss whose gradients take their time."""

    @staticmethod
    def forward(ctx, hidden, weight):
        ctx.save_for_backward(hidden, weight)
        return (hidden @ weight).mean()

    @staticmethod
    def backward(ctx, gradient):
        hidden, weight = ctx.saved_tensors
        time.sleep(LATE_S)
        share = (gradient / hidden.shape[0] / weight.shape[1]).expand(hidden.shape[0], 16)
        return share @ weight.T, hidden.T @ share


class Slowly(torch.autograd.Function):
    """The rest of a step, in the backward pass."""

    @staticmethod
    def forward(_ctx, x):
        return x.clone()

    @staticmethod
    def backward(_ctx, gradient):
        time.sleep(REST_S)
        return gradient


def head_loss(hidden, weight):
    return Late.apply(hidden, weight)


def turned(hidden, depth=1):
    """Call itself."""
    return turned(hidden, depth - 1) if depth else slow(hidden)


def _with_head(width, batch, device, calls, given):
    body = torch.nn.Linear(8, 8).to(device)
    inputs = torch.ones(batch * width, 8, device=device)

    def step():
        weight = given(body)
        hidden = Slowly.apply(body(inputs))
        parts = hidden.chunk(calls)
        sum(head_loss(part, weight) for part in parts).backward()
        return batch * width

    return step


def with_head(width, batch, device):
    """A trainable weight that outlives the step is given to the loss."""
    return _with_head(width, batch, device, 1, lambda _: GIVEN)


def in_parts(width, batch, device):
    """Call the loss for each part of the records, with one weight."""
    return _with_head(width, batch, device, 4, lambda _: GIVEN)


def tied(width, batch, device):
    """Share the weight of the loss with the body, whose gradients come after it."""
    return _with_head(width, batch, device, 1, lambda body: body.weight.T.repeat(1, 2))


def tied_leaf(width, batch, device):
    """Share a weight itself: its gradient is whole only at the end of the backward pass."""
    shared = torch.nn.Parameter(torch.ones(8, 16, device=device))
    inputs = torch.ones(batch * width, 8, device=device)

    def step():
        head_loss(Slowly.apply(inputs @ shared)[:, :8], shared).backward()
        return batch * width

    return step


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
