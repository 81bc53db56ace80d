import importlib.util
import pickle
import unittest
from typing import Any, List

from tests import group
from tests.test_rpc import in_group
from waybill import rpc

TORCH = importlib.util.find_spec("torch") is not None


def linear(inputs: int, outputs: int = 2, seed: int = 0) -> Any:
    import torch

    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(inputs, outputs), torch.nn.Dropout(0.0))


def no_module() -> Any:
    return {}


def call(module: Any, tensor: Any) -> Any:
    return module(tensor)


def on(module: Any) -> Any:
    return [module.on, module.device, module.is_scriptable, module.is_device_map_set]


def is_training(reference: Any) -> bool:
    return bool(reference.local_value()[1].training)


def losses() -> Any:
    """Trains two layers of two workers with a layer of this one between them."""
    import torch

    from waybill import autograd
    from waybill.nn import RemoteModule
    from waybill.optim import DistributedOptimizer

    first = RemoteModule("worker1/cpu", linear, (4,), {"outputs": 3})
    last = RemoteModule("rank:2", linear, (3,), {"seed": 2})
    middle = linear(3, 3, 1)
    own = [rpc.RRef(parameter) for parameter in middle.parameters()]
    parameters = first.remote_parameters() + own + last.remote_parameters()
    optimizer = DistributedOptimizer(torch.optim.SGD, parameters, lr=0.1)
    found = []
    for i in range(3):
        with autograd.context() as context_id:
            loss = last.forward_async(middle(first(torch.full((2, 4), 0.5 + i)))).wait().pow(2).sum()
            autograd.backward(context_id, [loss])
            optimizer.step(context_id)
        found.append(loss.item())
    return found


def losses_here() -> Any:
    import torch

    model = torch.nn.Sequential(linear(4, 3), linear(3, 3, 1), linear(3, seed=2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for i in range(3):
        optimizer.zero_grad()
        loss = model(torch.full((2, 4), 0.5 + i)).pow(2).sum()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def surface() -> Any:
    import torch

    from waybill.nn import RemoteModule

    found: Any = {}
    module = RemoteModule("worker1/cpu", linear, (4,))
    ones = torch.ones(1, 4)
    found["values"] = [
        module.forward(ones).tolist(),
        module.forward(input=ones).tolist(),
        rpc.rpc_sync("worker2", call, args=(module, ones)).tolist(),
        rpc.rpc_sync("worker1", call, args=(module, ones)).tolist(),
        RemoteModule.init_from_module_rref("worker1", module.get_module_rref())(ones).tolist(),
        RemoteModule("cpu", linear, (4,))(ones).tolist(),
    ]
    found["on"] = rpc.rpc_sync("worker2", on, args=(module,))
    found["here"] = RemoteModule("cpu", linear, (4,)).on
    found["training"] = [
        rpc.rpc_sync("worker1", is_training, args=(module.eval().module_rref,)),
        rpc.rpc_sync("worker1", is_training, args=(module.train().module_rref,)),
    ]
    found["parameters"] = [len(module.remote_parameters()), len(module.remote_parameters(recurse=False))]
    found["text"] = repr(module)
    errors: List[Any] = []
    for attempt in (
        lambda: RemoteModule("worker1", no_module).forward(),
        lambda: RemoteModule("worker1/cpu/1", linear, (4,)),
        lambda: RemoteModule("worker1/gpu", linear, (4,)),
        lambda: RemoteModule("absent", linear, (4,)),
        lambda: RemoteModule.init_from_module_rref("worker1", module.module_rref, _module_interface_cls=int),
        lambda: pickle.dumps(module),
        lambda: module.parameters(),
        lambda: module.state_dict(),
        lambda: module.to("cpu"),
    ):
        try:
            attempt()
            errors.append(None)
        except Exception as e:
            errors.append("%s: %s" % (type(e).__name__, e))
    found["errors"] = errors
    return found


@unittest.skipUnless(TORCH, "torch is not installed")
class RemoteModuleTest(unittest.TestCase):
    def test_training_is_that_of_one_process(self) -> None:
        self.assertEqual(group.run(in_group, 3, losses, 3)[0], losses_here())

    def test_a_module_is_used_from_every_worker_and_refuses_what_it_has_not_here(self) -> None:
        import torch

        found = group.run(in_group, 3, surface, 3)[0]
        self.assertEqual(found["values"], [linear(4)(torch.ones(1, 4)).tolist()] * 6)
        self.assertEqual(found["on"], ["worker1", "cpu", False, False])
        self.assertEqual(found["here"], "worker0")
        self.assertEqual(found["training"], [False, True])
        self.assertEqual(found["parameters"], [2, 0])
        self.assertEqual(found["text"], "RemoteModule(worker1/cpu)")
        for error, expected in zip(
            found["errors"],
            (
                "ValueError: Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, but",
                "ValueError: Could not parse remote_device: worker1/cpu/1",
                "RuntimeError: Expected one of cpu, cuda",
                "RuntimeError: name:worker0,rank:0 could not find destination name absent",
                "NotImplementedError: RemoteModule: expected no interface of TorchScript, found int",
                "RuntimeError: Cannot pickle RemoteModule in python pickler",
                "ValueError: Method ``parameters`` not supported for RemoteModule. Please use ``remote_parameters``",
                "ValueError: Method ``state_dict`` not supported for RemoteModule",
                "ValueError: Method ``to`` not supported for RemoteModule",
            ),
        ):
            self.assertIn(expected, str(error))


if __name__ == "__main__":
    unittest.main()
