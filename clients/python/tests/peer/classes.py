"""The peer's test classes, with ``waybill`` in the place of what they test."""

import importlib
import importlib.util
import sys
import types
import unittest
from typing import Any, Dict, List

from tests.peer.kept import Test

_TESTS = "torch.testing._internal.distributed."
# the class and the peer's module
_GROUPS: Dict[str, str] = {
    "RpcTest": "rpc.rpc_test",
    "TensorPipeAgentRpcTest": "rpc.rpc_test",
    "DistAutogradTest": "rpc.dist_autograd_test",
    "TensorPipeAgentDistAutogradTest": "rpc.dist_autograd_test",
    "FaultyAgentDistAutogradTest": "rpc.dist_autograd_test",
    "DistOptimizerTest": "rpc.dist_optimizer_test",
    "RemoteModuleTest": "nn.api.remote_module_test",
    "ThreeWorkersRemoteModuleTest": "nn.api.remote_module_test",
}
_REPLACED = ("api", "backend_registry", "constants", "functions", "internal", "options")


def install() -> None:
    """Puts waybill's modules in the place of torch's. Before the peer's tests are imported."""
    _provide_expecttest()
    import torch
    import torch.distributed.autograd  # the modules that are replaced, and those that know them
    import torch.distributed.nn.api.remote_module
    import torch.distributed.optim

    import waybill.rpc

    for name in _REPLACED:
        sys.modules["torch.distributed.rpc." + name] = getattr(waybill.rpc, name)
    sys.modules["torch.distributed.rpc"] = waybill.rpc
    setattr(torch.distributed, "rpc", waybill.rpc)
    autograd = importlib.import_module("waybill.autograd")
    sys.modules["torch.distributed.autograd"] = autograd
    setattr(torch.distributed, "autograd", autograd)
    optimizer = importlib.import_module("waybill.optim").DistributedOptimizer
    setattr(torch.distributed.optim, "DistributedOptimizer", optimizer)
    module = importlib.import_module("waybill.nn").RemoteModule
    for theirs in (torch.distributed.nn, torch.distributed.nn.api.remote_module):
        setattr(theirs, "RemoteModule", module)
    # has a parameter for scripted modules besides
    setattr(torch.distributed.nn.api.remote_module, "_RemoteModule", module)


def _provide_expecttest() -> None:
    """The peer's utilities derive from a class of this library, which Debian does not install with torch."""
    if importlib.util.find_spec("expecttest") is None:
        library = types.ModuleType("expecttest")
        setattr(library, "TestCase", unittest.TestCase)
        setattr(library, "ACCEPT", True)
        sys.modules["expecttest"] = library


def torch_version() -> str:
    """Version of the installed torch."""
    return str(sys.modules["torch"].__version__)


def _class(group: str) -> Any:
    return getattr(importlib.import_module(_TESTS + _GROUPS[group]), group)


def tests() -> List[Test]:
    """All tests of the classes, each under the class that defines it."""
    found = []
    for group in _GROUPS:
        own = vars(_class(group))
        found += [Test(group, name) for name in own if name.startswith("test") and callable(own[name])]
    return found


def world_size(test: Test) -> int:
    """Number of processes of a test."""
    return int(_class(test.group).world_size.fget(None))


def case(test: Test, rank: int, rendezvous: str) -> Any:
    """The test case of one process."""
    from torch.testing._internal.common_utils import TestCase

    fixture = importlib.import_module(_TESTS + "rpc.tensorpipe_rpc_agent_test_fixture").TensorPipeRpcAgentTestFixture
    members = {"rank": rank, "file_name": rendezvous, "runTest": lambda self: None, "__module__": __name__}
    made = type("Case", (fixture, _class(test.group), TestCase), members)
    # some tests call functions of their own class on other workers
    globals()["Case"] = made
    return made()

