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


def square(tensor: Any) -> Any:
    return tensor * tensor


def squares(tensor: Any) -> Any:
    """Sends what it also uses itself, so that two roots share a part of this worker's graph."""
    squared = tensor * tensor
    return rpc.rpc_sync("worker0", square, args=(squared,)) * squared


def beside(tensor: Any) -> Any:
    """Sends what it also returns, to a call whose result is not used: the pass never comes to that root."""
    squared = tensor * tensor
    rpc.rpc_sync("worker0", square, args=(squared,))
    return squared


def double(tensor: Any) -> Any:
    return tensor + tensor


def all_passes() -> Any:
    """What passes through graphs give, by what is said of the graph."""

    def called(function: Any) -> Any:
        return lambda a: rpc.rpc_sync("worker1", function, args=(a,))

    def skipping(a: Any) -> Any:
        squared = a * a
        return rpc.rpc_sync("worker1", scale, args=(squared, a)) * squared

    return {
        "another worker's": passes(3, called(square), [False, False]),
        "retained": passes(3, called(square), [True, False, False]),
        "shared by several roots": passes(3, called(squares), [True, False, False]),
        "shared with an unused call": passes(3, called(beside), [False, False]),
        "shared at the driver": passes(3, skipping, [False, False]),
        "under two losses": passes(1, called(square), [False, False], losses=2),
        "without saved tensors": passes(1, called(double), [False, False], losses=2),
    }


def passes(last: float, forward: Any, retain: List[bool], losses: int = 1) -> List[Any]:
    """The gradient after each of the passes, or its error. With two losses each one is a graph above that of a call."""
    import torch

    from waybill import autograd

    a = torch.linspace(1.0, last, 3, requires_grad=True)
    found: List[Any] = []
    with autograd.context() as context_id:
        result = forward(a)
        roots = [result.sum(), (result + result).sum()][:losses]
        for i, retain_graph in enumerate(retain):
            try:
                autograd.backward(context_id, [roots[i % losses]], retain_graph)
                found.append(autograd.get_gradients(context_id)[a].tolist())
            except RuntimeError as e:
                found.append(str(e))
    return found


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

    def test_a_pass_gives_up_the_graphs_that_it_does_not_retain(self) -> None:
        found = group.run(in_group, 2, all_passes, 2)[0]
        second = "Trying to backward through the graph a second time"
        for name, before in (
            ("another worker's", [[2.0, 4.0, 6.0]]),
            ("retained", [[2.0, 4.0, 6.0], [4.0, 8.0, 12.0]]),
            ("shared by several roots", [[6.0, 192.0, 1458.0], [12.0, 384.0, 2916.0]]),
            ("shared with an unused call", [[2.0, 4.0, 6.0]]),
            ("shared at the driver", [[5.0, 80.0, 405.0]]),
            ("under two losses", [[2.0, 2.0, 2.0]]),
        ):
            with self.subTest(graph=name):
                self.assertEqual(found[name][:-1], before)
                self.assertIn(second, str(found[name][-1]))
        self.assertIn("Error on Node 1: " + second, found["another worker's"][-1])
        self.assertIn("Error on Node 1: " + second, found["under two losses"][-1])
        # as in torch
        self.assertEqual(found["without saved tensors"], [[2.0, 2.0, 2.0], [6.0, 6.0, 6.0]])

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
