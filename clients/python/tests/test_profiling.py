import importlib.util
import operator
import sys
import unittest
from typing import Any, List

from tests import group
from tests.test_rpc import in_group
from waybill import pickling, profiling, python_calls, rpc
from waybill.errors import MalformedError
from waybill.frames import Message
from waybill.roster import WorkerInfo
from waybill.rpc import internal
from waybill.values import Invocation, encode_invocation

TORCH = importlib.util.find_spec("torch") is not None


def add_tensors(size: int) -> Any:
    import torch

    return torch.ones(size) + torch.ones(size)


@rpc.functions.async_execution
def add_at(to: str, size: int) -> Any:
    return rpc.rpc_async(to, add_tensors, args=(size,))


def remote_events(profile: Any) -> List[Any]:
    return [event for event in profile.function_events if event.is_remote]


def profiled_calls() -> List[Any]:
    from torch.autograd.profiler_legacy import profile

    for callee in ("worker1", "worker2"):
        # a callee has profiles once it has imported torch
        rpc.rpc_sync(callee, add_tensors, args=(3,))
    with profile(record_shapes=True) as one:
        rpc.rpc_sync("worker1", add_tensors, args=(3,))
    with profile() as chained:
        rpc.rpc_async("worker1", add_at, args=("worker2", 3)).wait()
    with profile() as kept:
        rref = rpc.remote("worker1", add_tensors, args=(3,))
        rref._get_profiling_future().wait()
    rpc.rpc_sync("worker1", add_tensors, args=(3,))
    return [
        [(e.name, e.node_id) for e in one.function_events if e.name.startswith("rpc_") and not e.is_remote],
        [(e.name, e.node_id, e.input_shapes) for e in remote_events(one) if e.name.endswith("aten::add")],
        [(e.name, e.node_id) for e in remote_events(chained) if e.name.endswith("aten::add")],
        [(e.name, e.node_id) for e in remote_events(kept) if e.name.endswith("aten::add")],
    ]


def add_often(times: int) -> int:
    tensor = add_tensors(3)
    for _ in range(times):
        tensor += 1
    return len(tensor)


def many_operators() -> List[int]:
    from torch.autograd.profiler_legacy import profile

    rpc.rpc_sync("worker1", add_tensors, args=(3,))
    with profile(record_shapes=True) as made:
        size = rpc.rpc_sync("worker1", add_often, args=(30000,))
    return [len(remote_events(made)), size]


def whole_process() -> List[str]:
    whole = rpc.remote("worker1", rpc._server_process_global_profile)
    whole.rpc_sync().__enter__()
    rpc.rpc_sync("worker1", add_tensors, args=(3,))
    whole.rpc_sync().__exit__(None, None, None)
    rpc.rpc_sync("worker1", add_tensors, args=(3,))
    return rpc.rpc_sync("worker1", names_of, args=(whole,))


def names_of(profile: Any) -> List[str]:
    return [event.name for event in profile.local_value().function_events]


class ProfilingTest(unittest.TestCase):
    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_a_profile_has_the_calls_of_its_thread_and_what_ran_at_the_callee(self) -> None:
        shown = "rpc_%s#%s(worker0 -> worker1)"
        calls, added, chained, kept = group.run(in_group, 3, profiled_calls, 3)[0]
        self.assertEqual(calls, [(shown % ("sync", "add_tensors"), 0)])
        self.assertEqual(added, [(shown % ("sync", "add_tensors") + "#remote_op: aten::add", 1, [[3], [3], []])])
        nested = "#remote_op: rpc_async#add_tensors(worker1 -> worker2)#remote_op: aten::add"
        self.assertEqual(chained, [(shown % ("async", "add_at") + nested, 2)])
        self.assertEqual(kept, [(shown % ("remote", "add_tensors") + "#remote_op: aten::add", 1)])

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_a_profile_of_a_process_has_its_requests_from_begin_to_end(self) -> None:
        names = group.run(in_group, 2, whole_process, 2)[0]
        self.assertEqual(names.count("aten::add"), 1, names)

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_a_function_with_many_operators_still_responds(self) -> None:
        count, size = group.run(in_group, 2, many_operators, 2)[0]
        self.assertTrue(100 < count < 30000, count)
        self.assertEqual(size, 3)

    def test_a_call_outside_of_a_profile_is_in_none(self) -> None:
        self.assertIsNone(internal.profile_of(internal.RPCExecMode.SYNC, WorkerInfo("b", 0), max))
        if "torch" not in sys.modules:  # which the program has to import before events are sent
            self.assertIsNone(profiling.served([0, ""]))

    def test_refuses_a_profile_that_is_none(self) -> None:
        packed = pickling.pack((operator.add, (1, 2), {}))
        for field in ([16, ""], [-1, ""], [0], [True, ""], "x", [0, "x" * 33], [0, 5], {"a": 1}):
            payload = encode_invocation(Invocation("m:f", (), {"pickle": packed.payload, "profile": field}))
            with self.subTest(field=field), self.assertRaisesRegex(MalformedError, "expected flags and a token"):
                python_calls.decode_call(Message(payload), pickling.unpack)

    def test_ignores_events_that_are_none(self) -> None:
        recording = profiling.Recording(0)
        almost = ["x", 1, 2.0, 3.0, 1, False, False, 5, [], 0, 0, 0, 0]
        for events in (5, [[1]], [["a"] * 13], [[None] * 13], {"a": 1}, [almost]):
            with self.subTest(events=events):
                profiling.Call(recording, "key", 0, False).finish(events)
        self.assertEqual({event.name for event in recording.events}, {"key"})


if __name__ == "__main__":
    unittest.main()
