"""A process that forks while it is in a home: the child works or is told what to do, and the parent never notices."""

import importlib.util
import multiprocessing
import operator
import os
import subprocess
import sys
import threading
import time
import unittest
from typing import Any, Callable, List, Tuple

import waybill
from tests import group
from waybill import rpc

TORCH = importlib.util.find_spec("torch") is not None
_LIMIT_SECONDS = 60
_ENDS = """
import os, sys, waybill
from waybill import rpc
rpc.init_rpc("member")
print(waybill.call("test.add", to="server", a=1, b=1), flush=True)
pid = os.fork()
if pid == 0:
    print("child", flush=True)
    sys.exit(0)
os.waitpid(pid, 0)
print(waybill.call("test.add", to="server", a=1, b=rpc.rpc_sync("member", max, args=(2, 1))), flush=True)
rpc.shutdown()
"""
_entered = threading.Event()
_leave = threading.Event()


def child(function: Callable[[], Any]) -> Tuple[str, int]:
    """What a forked child found, and its exit code; a child that does not end at once is killed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            found = repr(function())
        except BaseException as e:
            found = "%s: %s" % (type(e).__name__, e)
        os.write(writing, found.encode())
        os.close(writing)
        os._exit(0)
    os.close(writing)
    code = wait_for(pid)
    with os.fdopen(reading) as stream:
        return stream.read(), code


def wait_for(pid: int) -> int:
    # far below the 10 s for which a member that leaves waits for its gateway
    end = time.monotonic() + 8
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    raise AssertionError("expected the end of the forked child within 8 s, found that it runs")


def add(a: int, b: int) -> int:
    return a + b


def wait_to_leave() -> bool:
    _entered.set()
    return _leave.wait(_LIMIT_SECONDS)


def release() -> None:
    _leave.set()


def await_entered() -> bool:
    return _entered.wait(_LIMIT_SECONDS)


def call_in_child() -> Tuple[str, int]:
    """Served: forks."""
    return child(lambda: rpc.rpc_sync("worker0", add, args=(1, 1)))


def return_in_child() -> int:
    """Served: forks, and its copy in the child returns as it does."""
    pid = os.fork()
    return wait_for(pid) if pid else 7


def exit_in_child() -> int:
    """Served: forks a child that ends by :func:`sys.exit`."""
    pid = os.fork()
    if pid == 0:
        sys.exit(3)
    return wait_for(pid)


def in_group(test: Callable[[], Any]) -> Callable[[int], Any]:
    def run(rank: int) -> Any:
        rpc.init_rpc("worker%d" % rank, rank=rank, world_size=2)
        found = test() if rank == 0 else None
        rpc.shutdown()
        return found

    return run


def call_by_name(offset: int) -> Tuple[int, str]:
    return waybill.call("test.add", to="server", a=1, b=offset), waybill.client._shared.info.name


def _init_and_call() -> Any:
    rpc.init_rpc("child")
    found = rpc.rpc_sync("worker1", add, args=(2, 2))
    rpc.shutdown(graceful=False)
    return found


class Rows:
    """A data set whose rows come from a call by name."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        return call_by_name(index)[0]


class MemberTest(unittest.TestCase):
    """Forks of a member of a group."""

    def test_idle(self) -> None:
        def test() -> Any:
            found = child(lambda: rpc.rpc_sync("worker1", add, args=(1, 1)))
            return found, rpc.rpc_sync("worker1", add, args=(1, 2))

        (text, code), value = group.run(in_group(test), 2)[0]
        self.assertRegex(text, r"^RuntimeError: .*that called init_rpc \(pid \d+, worker worker0\)")
        self.assertIn("call init_rpc in the child with a name of its own", text)
        self.assertEqual((code, value), (0, 3))

    def test_every_use(self) -> None:
        def test() -> List[str]:
            rref = rpc.remote("worker1", add, args=(1, 1))
            own = rpc.RRef(3)
            rref.to_here()
            future = rpc.rpc_async("worker1", wait_to_leave)
            uses = [
                lambda: rpc.rpc_async("worker1", add, args=(1, 1)),
                lambda: rpc.remote("worker1", add, args=(1, 1)),
                lambda: rref.to_here(),
                lambda: rref.rpc_sync().bit_length(),
                lambda: rpc.get_worker_info("worker1"),
                lambda: rpc.buffer(1 << 20),
                lambda: rpc.shutdown(),
            ]
            found = [child(use)[0] for use in uses]
            found.append(child(own.local_value)[0])
            if "torch" not in sys.modules:
                found.append(child(future.wait)[0])
            rpc.rpc_sync("worker1", release)
            self.assertTrue(future.wait())
            self.assertEqual(rref.to_here(), 2)
            return found

        found = group.run(in_group(test), 2)[0]
        for text in found[:7]:
            self.assertRegex(text, r"forked child \(pid \d+\); (call|join)")
        self.assertEqual(found[7], "3")
        for text in found[8:]:
            self.assertRegex(text, "wait before the fork, or call in the child")

    def test_in_a_call(self) -> None:
        def test() -> Any:
            waiting = threading.Thread(target=rpc.rpc_sync, args=("worker1", wait_to_leave))
            waiting.start()
            rpc.rpc_sync("worker1", await_entered)
            found = child(lambda: rpc.rpc_sync("worker1", add, args=(1, 1)))
            rpc.rpc_sync("worker1", release)
            waiting.join(_LIMIT_SECONDS)
            return found[1], waiting.is_alive()

        self.assertEqual(group.run(in_group(test), 2)[0], (0, False))

    def test_serving(self) -> None:
        def test() -> Any:
            text, code = rpc.rpc_sync("worker1", call_in_child)
            ends = [rpc.rpc_sync("worker1", each) for each in (return_in_child, exit_in_child)]
            return text, code, ends, rpc.rpc_sync("worker1", add, args=(1, 2))

        text, code, ends, value = group.run(in_group(test), 2)[0]
        self.assertIn("forked child", text)
        self.assertEqual((code, ends, value), (0, [0, 3], 3))

    def test_the_child_joins_under_a_name_of_its_own(self) -> None:
        def test() -> Any:
            return child(_init_and_call), rpc.rpc_sync("worker1", add, args=(1, 2))

        self.assertEqual(group.run(in_group(test), 2)[0], (("4", 0), 3))

    def test_the_gateway_sees_the_end_of_the_parent_before_that_of_the_child(self) -> None:
        def test(rank: int) -> Any:
            name = "worker%d" % rank
            if rank == 0:
                reading, writing = os.pipe()
                held, holding = os.pipe()
                if os.fork() == 0:
                    os.close(holding)
                    rpc.init_rpc(name)
                    if os.fork():
                        os.write(writing, b"1")
                        os._exit(0)
                    # until the observer has ended
                    os.read(held, 1)
                    os._exit(0)
                os.read(reading, 1)
            rpc.init_rpc("observer%d" % rank)
            end = time.monotonic() + 8
            while any(each.info.name == "worker0" for each in rpc.api._get_current_rpc_agent().worker.workers()):
                if time.monotonic() > end:
                    return "worker0 is there"
            return "gone"

        self.assertEqual(group.run(test, 1), ["gone"])


class CallerTest(unittest.TestCase):
    """Forks of a process that calls by name."""

    def setUp(self) -> None:
        router = group.router()
        environment = router.__enter__()
        self.addCleanup(router.__exit__, None, None, None)
        former = dict(os.environ)
        os.environ.update(environment)
        self.addCleanup(os.environ.update, former)
        self.addCleanup(os.environ.pop, "WAYBILL_PYTHON_SOCKET")
        waybill.operation("test.add")(operator_add)
        self.server = waybill.Client("server")
        self.addCleanup(self.server.close)

        def forget() -> None:
            if waybill.client._shared is not None:
                waybill.client._shared.close()
                waybill.client._shared = None

        self.addCleanup(forget)

    def test_a_child_has_a_connection_and_a_name_of_its_own(self) -> None:
        self.assertEqual(call_by_name(1), (2, "python"))
        self.assertEqual(child(lambda: call_by_name(2)), ("(3, 'python-2')", 0))
        self.assertEqual(call_by_name(3), (4, "python"))

    def test_a_child_that_only_ends_ends_at_once(self) -> None:
        ended = subprocess.run([sys.executable, "-c", _ENDS], cwd=group.ROOT, stdout=subprocess.PIPE, timeout=8)
        self.assertEqual(ended.stdout.split(), [b"2", b"child", b"3"])

    def test_a_client_of_the_parent_is_refused(self) -> None:
        with waybill.connect("own") as client:
            self.assertEqual(client.call("test.add", to="server", a=1, b=1), 2)
            text, _ = child(lambda: client.call("test.add", to="server", a=1, b=1))
            self.assertRegex(text, r"^CallError: worker own: expected a call of the process that joined")
            self.assertEqual(child(client.close), ("None", 0))
            self.assertEqual(client.call("test.add", to="server", a=1, b=1), 2)

    def test_each_start_method(self) -> None:
        self.assertEqual(call_by_name(0)[0], 1)
        for method in multiprocessing.get_all_start_methods():
            with self.subTest(method), multiprocessing.get_context(method).Pool(2) as pool:
                found = pool.map(call_by_name, range(4), chunksize=1)
                self.assertEqual([value for value, _ in found], [1, 2, 3, 4])
                self.assertNotIn("python", {name for _, name in found})
            self.assertEqual(call_by_name(1), (2, "python"))

    def test_a_server_that_forks_before_it_serves(self) -> None:
        call_by_name(0)
        found = [child(lambda: [call_by_name(n) for n in range(3)]) for _ in range(3)]
        self.assertEqual(set(found), {("[(1, 'python-2'), (2, 'python-2'), (3, 'python-2')]", 0)})
        self.assertEqual(call_by_name(0), (1, "python"))

    @unittest.skipUnless(TORCH, "there is no torch")
    def test_data_loader(self) -> None:
        from torch.utils.data import DataLoader

        call_by_name(0)
        found = [int(row) for batch in DataLoader(Rows(), batch_size=2, num_workers=2) for row in batch]
        self.assertEqual(found, [1, 2, 3, 4, 5, 6])
        self.assertEqual(call_by_name(0), (1, "python"))


def operator_add(a: int, b: int) -> int:
    return operator.add(a, b)


if __name__ == "__main__":
    unittest.main()
