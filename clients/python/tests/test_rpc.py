import contextlib
import importlib.util
import operator
import os
import threading
import time
import unittest
from typing import Any, Callable, Dict, List, Tuple

import waybill
from tests import group
from waybill import rpc, worker

NUMPY = importlib.util.find_spec("numpy") is not None
_gate = threading.Event()


class Counter:
    def __init__(self, count: int) -> None:
        self.count = count

    def add(self, step: int) -> int:
        self.count += step
        return self.count

    @rpc.functions.async_execution
    def add_later(self, to: str, step: int) -> Any:
        return rpc.rpc_async(to, operator.add, args=(self.count, step))


def fail(text: str) -> None:
    raise KeyError(text)


def own_name() -> str:
    return rpc.get_worker_info().name


def wait_for_gate() -> bool:
    return _gate.wait(100)


def open_gate() -> None:
    _gate.set()


def fetch_and_add(rref: Any, step: int) -> Any:
    return rref.to_here() + step


def make_references(to: str) -> List[Any]:
    return [rpc.RRef(1), rpc.remote(to, operator.add, args=(1, 1))]


def double(value: Any) -> Any:
    value *= 2
    return value


def counters() -> Dict[str, str]:
    return rpc._rref_context_get_debug_info()


def nested(depth: int) -> int:
    other = "worker%d" % (1 - rpc.get_worker_info().id)
    return 0 if depth == 0 else 1 + rpc.rpc_sync(other, nested, args=(depth - 1,))


def parent_and_own_request() -> Tuple[int, int]:
    agent = rpc.api._get_current_rpc_agent()
    return agent.worker.ask_gateway("test.parent", {}), worker._current.incoming.exchange


@rpc.functions.async_execution
def chained(to: str, value: int) -> Any:
    return rpc.rpc_async(to, operator.add, args=(value, 1)).then(lambda f: f.value() * 2)


@rpc.functions.async_execution
def not_a_future() -> int:
    return 5


def end_process() -> None:
    os._exit(1)


def in_group(rank: int, test: Any, size: int) -> Any:
    rpc.init_rpc("worker%d" % rank, rank=rank, world_size=size)
    try:
        return test() if rank == 0 else None
    finally:
        rpc.shutdown()


class RpcTest(unittest.TestCase):
    def run_in_group(self, test: Any, size: int = 2) -> Any:
        return group.run(in_group, size, test, size)[0]

    def test_a_function_is_called_by_name_id_and_info(self) -> None:
        def test() -> Any:
            return [rpc.rpc_sync(to, own_name) for to in ("worker1", 1, rpc.get_worker_info("worker1"), "worker0")]

        self.assertEqual(self.run_in_group(test), ["worker1"] * 3 + ["worker0"])

    def test_an_error_keeps_its_class_and_has_the_traceback(self) -> None:
        def test() -> Any:
            texts = []
            for call in (
                rpc.rpc_sync,
                lambda *a, **k: rpc.rpc_async(*a, **k).wait(),
                lambda *a, **k: rpc.remote(*a, **k).to_here(),
            ):
                try:
                    call("worker1", fail, args=("no such",))
                except KeyError as e:
                    texts.append(e.args[0])
            return texts

        texts = self.run_in_group(test)
        self.assertEqual(len(texts), 3)
        for text in texts:
            self.assertRegex(
                text, r"^On WorkerInfo\(id=1, name=worker1\):\nKeyError: 'no such'\nTraceback (.|\n)* in fail\n"
            )

    def test_a_call_ends_at_its_time_and_its_late_response_is_dropped(self) -> None:
        def test() -> Any:
            try:
                rpc.rpc_sync("worker1", wait_for_gate, timeout=0.1)
                return "no error"
            except waybill.CallTimeout as e:
                rpc.rpc_sync("worker1", open_gate)
                return str(e), rpc.rpc_sync("worker1", own_name)

        text = "RPCErr:1:RPC ran for more than set timeout (100 ms) and will now be marked with an error"
        self.assertEqual(self.run_in_group(test), (text, "worker1"))

    def test_nested_calls_do_not_use_up_the_threads(self) -> None:
        self.assertEqual(self.run_in_group(lambda: rpc.rpc_sync("worker1", nested, args=(100,))), 100)

    def test_a_call_of_a_function_names_the_request_that_runs_it(self) -> None:
        def test() -> Any:
            agent = rpc.api._get_current_rpc_agent()
            return agent.worker.ask_gateway("test.parent", {}), rpc.rpc_sync("worker1", parent_and_own_request)

        outside, (parent, own) = self.run_in_group(test)
        self.assertEqual(outside, 0)
        self.assertEqual(parent, own)
        self.assertGreater(own, 0)

    def test_a_thousand_calls_in_flight(self) -> None:
        def test() -> Any:
            futures = [rpc.rpc_async("worker1", operator.add, args=(i, i)) for i in range(1000)]
            return [future.wait() for future in futures]

        self.assertEqual(self.run_in_group(test), [2 * i for i in range(1000)])

    def test_an_async_function_responds_with_the_value_of_its_future(self) -> None:
        def test() -> Any:
            return (
                rpc.rpc_sync("worker1", chained, args=("worker0", 4)),
                rpc.remote("worker1", chained, args=("worker0", 5)).to_here(),
            )

        self.assertEqual(self.run_in_group(test), (10, 12))

    def test_an_async_function_that_returns_something_else_fails(self) -> None:
        with self.assertRaisesRegex(AssertionError, "must return a torch.futures.Future object, but got builtins.int"):
            self.run_in_group(lambda: rpc.rpc_sync("worker1", not_a_future))

    def test_methods_of_a_remote_object(self) -> None:
        def test() -> Any:
            counter = rpc.remote("worker1", Counter, args=(5,))
            return (
                counter.rpc_sync().add(1),
                counter.rpc_async().add(1).wait(),
                counter.remote().add(1).to_here(),
                counter.rpc_sync().add_later("worker0", 100),
                counter.owner_name(),
            )

        self.assertEqual(self.run_in_group(test), (6, 7, 8, 108, "worker1"))

    def test_references_travel_in_arguments_and_results(self) -> None:
        def test() -> Any:
            own = rpc.RRef(40)
            third = rpc.remote("worker2", operator.add, args=(20, 1))
            made = rpc.rpc_sync("worker1", make_references, args=("worker2",))
            return (
                rpc.rpc_sync("worker1", fetch_and_add, args=(own, 2)),
                rpc.rpc_sync("worker1", fetch_and_add, args=(third, 2)),
                [rref.to_here() for rref in made],
                own.local_value(),
            )

        self.assertEqual(self.run_in_group(test, 3), (42, 23, [1, 2], 40))

    def test_a_value_is_dropped_with_its_last_reference(self) -> None:
        def test() -> Any:
            rref = rpc.remote("worker1", Counter, args=(5,))
            rref.rpc_sync().add(1)
            before = rpc.rpc_sync("worker1", counters)["num_owner_rrefs"]
            del rref
            end = time.monotonic() + group.LIMIT_SECONDS
            while rpc.rpc_sync("worker1", counters)["num_owner_rrefs"] != "0" and time.monotonic() < end:
                time.sleep(0.01)
            return before, rpc.rpc_sync("worker1", counters)["num_owner_rrefs"]

        self.assertEqual(self.run_in_group(test), ("1", "0"))

    def test_a_reference_is_not_pickled_elsewhere(self) -> None:
        def test() -> Any:
            import pickle

            pickle.dumps(rpc.RRef(1))

        with self.assertRaisesRegex(AssertionError, "Can not pickle rref in python pickler"):
            self.run_in_group(test)

    def test_calls_to_a_process_that_ends_fail(self) -> None:
        def test(rank: int) -> Any:
            rpc.init_rpc("worker%d" % rank, rank=rank, world_size=2)
            if rank == 1:
                wait_for_gate()
            try:
                rpc.rpc_sync("worker1", end_process)
            except waybill.WorkerLost as e:
                return e.code
            finally:
                rpc.shutdown(graceful=False)

        with self.assertRaisesRegex(AssertionError, "^process 1 ended without an outcome$"):
            group.run(test, 2)

    def test_calls_behind_the_end_of_the_connection_go_over_another_one(self) -> None:
        def test(rank: int) -> Any:
            rpc.init_rpc("worker%d" % rank, rank=rank, world_size=1)
            worker = rpc._get_current_rpc_agent().worker
            made = rpc.RRef("kept")
            received = rpc.remote("worker0", operator.add, args=(1, 2))
            received.local_value()
            unread = rpc.remote("worker0", operator.add, args=(1, 2))
            shared = rpc.rpc_sync("worker0", value_of, args=(made,))
            ended = worker.connection
            ended.close()
            wait_until(ended.has_ended)
            found = [rpc.rpc_sync("worker0", operator.add, args=(i, 2)) for i in range(3)]
            for rref in (made, received):
                shared += "; %s" % rpc.rpc_sync("worker0", value_of, args=(rref,))
            try:
                unread.local_value()
            except waybill.WorkerLost as e:
                shared += "; " + str(e)[:50]
            rpc.shutdown()
            return rpc.api.state.is_set(), worker.info, found, shared, ended.in_flight()

        info = rpc.WorkerInfo("worker0", 0)
        lost = "reference: expected one that this process got sinc"
        self.assertEqual(group.run(test, 1), [(False, info, [2, 3, 4], "kept; kept; 3; " + lost, 0)])

    def test_nothing_is_mapped_any_more_when_a_process_leaves(self) -> None:
        def test(rank: int) -> Any:
            rpc.init_rpc("worker%d" % rank, rank=rank, world_size=1)
            connection = rpc._get_current_rpc_agent().worker.connection
            said = [connection._is_connected()]
            write = connection._write

            def noted(pieces: Any, sent: Any = None) -> None:
                said.append(connection._is_connected())
                write(pieces, sent)

            connection._write = noted
            rpc.shutdown()
            return said[0], said[-1]

        self.assertEqual(group.run(test, 1), [(True, False)])

    @unittest.skipUnless(NUMPY, "numpy is not installed")
    def test_large_arrays_travel_through_the_regions(self) -> None:
        def test() -> Any:
            import numpy

            array = numpy.arange(500000.0)
            results = [rpc.rpc_sync("worker1", double, args=(array,)) for _ in range(10)]
            right = all((result == array * 2).all() for result in results)
            out = rpc._get_current_rpc_agent().worker.connection.storages._out
            return right, results[0].flags.writeable, out.in_use()

        self.assertEqual(self.run_in_group(test), (True, True, 0))

    def test_operations_by_name(self) -> None:
        def test(rank: int) -> Any:
            if rank == 1:
                waybill.operation("text.count")(lambda text: {"words": len(text.split())})
                waybill.operation("stop")(open_gate)
                with waybill.connect("server"):
                    return wait_for_gate()
            found = call_when_served("server", "text.count", text="to be or not")
            with contextlib.suppress(waybill.WorkerLost):
                waybill.call("stop", to="server")
            return found

        self.assertEqual(group.run(test, 2), [{"words": 4}, True])


def value_of(rref: Any) -> Any:
    return rref.local_value()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + group.LIMIT_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("expected within %d s: %s" % (group.LIMIT_SECONDS, condition))
        time.sleep(0.005)


def call_when_served(to: str, name: str, **fields: Any) -> Any:
    end = time.monotonic() + group.LIMIT_SECONDS
    while True:
        try:
            return waybill.call(name, to=to, **fields)
        except waybill.CallError as e:
            if e.code != "UNKNOWN_WORKER" or time.monotonic() > end:
                raise
            time.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
