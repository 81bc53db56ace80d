"""Trains a small model whose two layers live in two other Python processes, with waybill.rpc and waybill.autograd.

Usage: python3 train.py

Needs torch, the package waybill (pip install ./clients/python), and `waybill` on the PATH or a node that runs. This
process starts the two others. Calls, gradients and steps of the optimizer are on record in the home:
`waybill journal list` shows them.
"""

import multiprocessing
import sys

LAYERS = ("first", "second")
ROUNDS = 60
RATE = 0.5


class Layer:
    """A part of the model, which stays in the process that made it."""

    def __init__(self, inputs, outputs, bends):
        import torch

        torch.manual_seed(inputs)
        self.linear = torch.nn.Linear(inputs, outputs)
        self.bends = bends

    def forward(self, values):
        result = self.linear(values)
        return result.tanh() if self.bends else result

    def step(self, context_id, rate):
        """Moves the parameters along the gradients that this process has in the context."""
        import torch

        from waybill import autograd

        gradients = autograd.get_gradients(context_id)
        with torch.no_grad():
            for parameter in self.linear.parameters():
                parameter -= rate * gradients[parameter]


def train():
    """Trains from the process that has the data, and returns the loss before and after."""
    import torch

    from waybill import autograd, rpc

    torch.manual_seed(1)
    inputs = torch.rand(64, 2) * 2 - 1
    wanted = (inputs[:, :1] * inputs[:, 1:]).detach()
    first = rpc.remote("first", Layer, args=(2, 16, True))
    second = rpc.remote("second", Layer, args=(16, 1, False))
    losses = []
    for _ in range(ROUNDS):
        with autograd.context() as context_id:
            hidden = first.rpc_sync().forward(inputs)
            loss = ((second.rpc_sync().forward(hidden) - wanted) ** 2).mean()
            autograd.backward(context_id, [loss])
            for layer in (first, second):
                layer.rpc_sync().step(context_id, RATE)
        losses.append(loss.item())
    return losses[0], losses[-1]


def serve(rank):
    """Keeps a layer until the others leave, too."""
    from waybill import rpc

    rpc.init_rpc(LAYERS[rank - 1], rank=rank, world_size=3)
    rpc.shutdown()


def main():
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.exit("train.py needs torch, and this is %s without it: pip install torch" % sys.executable)
    from waybill import rpc

    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=serve, args=(rank,)) for rank in (1, 2)]
    for other in others:
        other.start()
    rpc.init_rpc("trainer", rank=0, world_size=3)
    before, after = train()
    rpc.shutdown()
    for other in others:
        other.join()
    print("loss before: %.4f, after %d rounds: %.4f" % (before, ROUNDS, after))


if __name__ == "__main__":
    main()
