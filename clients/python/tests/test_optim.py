import importlib.util
import unittest
from typing import Any, List

from tests import group
from tests.test_rpc import in_group
from waybill import rpc

TORCH = importlib.util.find_spec("torch") is not None
STEPS = 3


def optimizers() -> List[Any]:
    """Classes and options; the last three have no functional counterpart."""
    from torch import optim

    from tests.halving import Halving

    return [
        (optim.SGD, {"lr": 0.05}),
        (optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
        (optim.Adam, {"lr": 0.01, "amsgrad": True}),
        (optim.AdamW, {"lr": 0.05}),
        (optim.Adagrad, {"lr": 0.05}),
        (optim.Adadelta, {"rho": 0.95}),
        (optim.RMSprop, {"lr": 0.05}),
        (optim.Rprop, {"lr": 0.05}),
        (optim.Adamax, {"lr": 0.05}),
        (optim.ASGD, {"lr": 0.05}),
        (optim.NAdam, {"lr": 0.05}),
        (Halving, {}),
    ]


def parameter(first: float) -> Any:
    import torch

    return torch.nn.Parameter(torch.linspace(first, first + 1, 3))


def weigh(reference: Any, tensor: Any) -> Any:
    return reference.local_value() * tensor


def forward(references: List[Any], tensor: Any) -> Any:
    """Goes through the owners of all but the last parameter, which has no gradient then."""
    for reference in references[:-1]:
        tensor = rpc.rpc_sync(reference.owner(), weigh, args=(reference, tensor))
    return (tensor * tensor).sum()


def trained(kind: Any, options: Any) -> Any:
    """Parameters after some steps, and whether TorchScript took them."""
    import torch

    from waybill import autograd
    from waybill.optim import DistributedOptimizer

    references = [rpc.remote("worker%d" % (i % 3), parameter, args=(i * 0.5 - 1.0,)) for i in range(5)]
    optimizer = DistributedOptimizer(kind, references, **options)
    for i in range(STEPS):
        # in the second step, the second parameter has no gradient
        used = references if i != 1 else references[:1] + references[2:]
        with autograd.context() as context_id:
            autograd.backward(context_id, [forward(used, torch.full((3,), 1.5))])
            optimizer.step(context_id)
    return [[reference.to_here().tolist() for reference in references], optimizer.is_functional_optim]


def trained_here(kind: Any, options: Any) -> Any:
    """The same parameters in one process, under torch's own optimizer."""
    import torch

    parameters = [parameter(i * 0.5 - 1.0) for i in range(5)]
    optimizer = kind(parameters, **options)
    for i in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        tensor = torch.full((3,), 1.5)
        for each in (parameters if i != 1 else parameters[:1] + parameters[2:])[:-1]:
            tensor = each * tensor
        (tensor * tensor).sum().backward()
        optimizer.step()
    return [each.tolist() for each in parameters]


def errors() -> Any:
    from tests.halving import Halving
    from waybill import autograd
    from waybill.optim import DistributedOptimizer

    references = [rpc.remote("worker1", parameter, args=(1.0,)), rpc.remote("worker2", parameter, args=(1.0,))]
    found: List[Any] = []

    def attempt(function: Any) -> None:
        try:
            function()
            found.append(None)
        except Exception as e:
            found.append((type(e).__name__, str(e)))

    failing = DistributedOptimizer(Halving, references, "step")
    with autograd.context() as context_id:
        attempt(lambda: DistributedOptimizer(Halving, references, fails="made"))
        attempt(lambda: failing.step(context_id))
        attempt(lambda: failing.step(context_id + 1))
    return found


def all_of_it() -> Any:
    return [trained(kind, options) for kind, options in optimizers()], errors()


@unittest.skipUnless(TORCH, "torch is not installed")
class OptimizerTest(unittest.TestCase):
    def test_steps_at_owners_are_those_of_torch(self) -> None:
        found, failed = group.run(in_group, 3, all_of_it, 3)[0]
        for i, (kind, options) in enumerate(optimizers()):
            with self.subTest(optimizer=kind.__name__, options=options):
                parameters, is_functional = found[i]
                self.assertEqual(parameters, trained_here(kind, options))
                self.assertEqual(is_functional, i < 9)
        (made, made_text), (step, step_text), (unknown, unknown_text) = failed
        self.assertEqual((made, step, unknown), ("ValueError", "ArithmeticError", "RuntimeError"))
        self.assertIn("expected one that can't be made", made_text)
        self.assertIn("expected one that can't step on worker", step_text)
        self.assertIn("Could not find autograd context with id", unknown_text)


if __name__ == "__main__":
    unittest.main()
