import importlib.util
import operator
import unittest
from typing import Any, List

from tests import group
from tests.test_rpc import in_group
from waybill import rpc

TORCH = importlib.util.find_spec("torch") is not None


def scale(tensor: Any, factor: Any) -> Any:
    return tensor * factor


def through_next(tensor: Any, factor: Any) -> Any:
    """Uses its argument twice, once on the next worker."""
    other = "worker%d" % ((rpc.get_worker_info().id + 1) % 3)
    return rpc.rpc_sync(other, scale, args=(tensor, factor)) + tensor


def contexts() -> str:
    from waybill import autograd

    return autograd._get_debug_info()["num_autograd_contexts"]


def gradients(unused: bool) -> List[Any]:
    import torch

    from waybill import autograd

    a = torch.arange(4.0, requires_grad=True)
    b = torch.full((4,), 3.0, requires_grad=True)
    with autograd.context() as context_id:
        results = []
        for _ in range(2):
            result = rpc.rpc_sync("worker1", through_next, args=(a, b))
            if unused:
                rpc.rpc_sync("worker1", operator.add, args=(result, b))
            autograd.backward(context_id, [(result * result).sum()])
            found = autograd.get_gradients(context_id)
            results.append([found[a].tolist(), found[b].tolist(), a.grad])
    return results


def expected() -> List[Any]:
    import torch

    a = torch.arange(4.0, requires_grad=True)
    b = torch.full((4,), 3.0, requires_grad=True)
    result = a * b + a
    (result * result).sum().backward()
    once = [a.grad.tolist(), b.grad.tolist()]
    return [once + [None], [[2 * g for g in grads] for grads in once] + [None]]


@unittest.skipUnless(TORCH, "torch is not installed")
class AutogradTest(unittest.TestCase):
    def test_gradients_through_three_workers_are_those_of_one(self) -> None:
        self.assertEqual(group.run(in_group, 3, lambda: gradients(False), 3)[0], expected())

    def test_an_unused_result_has_a_gradient_of_zero(self) -> None:
        self.assertEqual(group.run(in_group, 3, lambda: gradients(True), 3)[0], expected())

    def test_contexts_end_on_all_workers(self) -> None:
        def test() -> Any:
            gradients(False)
            names = ["worker0", "worker1", "worker2"]
            while any(rpc.rpc_sync(name, contexts) != "0" for name in names):
                pass
            return "released"

        self.assertEqual(group.run(in_group, 3, test, 3)[0], "released")


if __name__ == "__main__":
    unittest.main()
