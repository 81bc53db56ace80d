"""The peer's test classes, with ``waybill`` in the place of what they test."""

import importlib
import importlib.util
import sys
import types
import unittest
from typing import Any, Dict, List

from tests.peer.kept import Test

_TESTS = "torch.testing._internal.distributed.rpc."
# the class in the peer's module, and the fixture that gives it its options
_GROUPS: Dict[str, str] = {
    "RpcTest": "rpc_test",
    "TensorPipeAgentRpcTest": "rpc_test",
    "DistAutogradTest": "dist_autograd_test",
    "TensorPipeAgentDistAutogradTest": "dist_autograd_test",
    "FaultyAgentDistAutogradTest": "dist_autograd_test",
}
_REPLACED = ("api", "backend_registry", "constants", "functions", "internal", "options")


def install() -> None:
    """Puts waybill's modules in the place of torch's. Before the peer's tests are imported."""
    _provide_expecttest()
    import torch
    import torch.distributed.autograd  # the module that is replaced

    import waybill.rpc

    for name in _REPLACED:
        sys.modules["torch.distributed.rpc." + name] = getattr(waybill.rpc, name)
    sys.modules["torch.distributed.rpc"] = waybill.rpc
    setattr(torch.distributed, "rpc", waybill.rpc)
    try:
        autograd = importlib.import_module("waybill.autograd")
    except ImportError:
        return
    sys.modules["torch.distributed.autograd"] = autograd
    setattr(torch.distributed, "autograd", autograd)


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
    return 4


def case(test: Test, rank: int, rendezvous: str) -> Any:
    """The test case of one process."""
    from torch.testing._internal.common_utils import TestCase

    fixture = importlib.import_module(_TESTS + "tensorpipe_rpc_agent_test_fixture").TensorPipeRpcAgentTestFixture
    members = {"rank": rank, "file_name": rendezvous, "runTest": lambda self: None, "__module__": __name__}
    made = type("Case", (fixture, _class(test.group), TestCase), members)
    # some tests call functions of their own class on other workers
    globals()["Case"] = made
    return made()

