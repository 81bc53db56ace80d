import gc
import importlib.util
import logging
import os
import pickle
import subprocess
import tempfile
import threading
import unittest
from typing import Any, Callable, List, Optional, Tuple

import waybill
from tests import group
from tests.test_rpc import wait_until
from waybill.client import Client
from waybill.futures import Future

_SHORT_SECONDS = 0.3
_LONG_SECONDS = 100.0


def outcome_of(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What a call returns, or the code of its error."""
    try:
        return function(*args, **named)
    except waybill.CallError as e:
        return e.code


def in_background(function: Callable[..., Any], *args: Any, **named: Any) -> "Future[Any]":
    outcome: "Future[Any]" = Future()
    threading.Thread(target=lambda: outcome.set_result(outcome_of(function, *args, **named)), daemon=True).start()
    return outcome


def threads() -> List[str]:
    return sorted(each.name for each in threading.enumerate() if each.name.startswith("waybill-"))


class ReconnectionTest(unittest.TestCase):
    """Clients whose gateway ends, and comes back."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "python.sock")
        self.router: Optional["subprocess.Popen[bytes]"] = None
        self.addCleanup(self.kill)
        self.start()
        self.runs: List[Any] = []
        self.begun = threading.Event()
        self.gate = threading.Event()
        waybill.operation("test.run")(self.run_once)
        waybill.operation("test.rest")(self.rest)
        logging.getLogger("waybill").setLevel(logging.ERROR)
        self.addCleanup(logging.getLogger("waybill").setLevel, logging.NOTSET)

    def start(self) -> None:
        self.router = group.start_router(self.path)

    def kill(self) -> None:
        if self.router is not None:
            group.kill_router(self.router)
            self.router = None

    def run_once(self, key: Any) -> Any:
        self.runs.append(key)
        return key

    def rest(self) -> None:
        self.begun.set()
        self.gate.wait(_LONG_SECONDS)

    def pair(self) -> Tuple[Client, Client]:
        pair = Client("server", socket=self.path), Client("caller", socket=self.path, serve=False)
        for each in pair:
            self.addCleanup(each.close)
        return pair

    def test_what_was_begun_ends_once_and_what_comes_later_waits(self) -> None:
        server, caller = self.pair()
        before = server.info, caller.info
        self.assertEqual(caller.call("test.run", to="server", key=0), 0)
        begun = in_background(caller.call, "test.rest", to="server", timeout=_LONG_SECONDS)
        self.assertTrue(self.begun.wait(_LONG_SECONDS), "the call was begun")
        self.kill()
        self.assertEqual(begun.wait(_LONG_SECONDS), "WORKER_LOST", "the call in flight")
        later = [in_background(caller.call, "test.run", to="server", key=i, timeout=_LONG_SECONDS) for i in range(1, 4)]
        indefinitely = in_background(caller.call, "test.run", to="caller", key="own", timeout=0)
        self.assertFalse(any(each.done() for each in later))
        self.start()
        wait_until(lambda: not server._worker.connection.has_ended())
        for number, each in enumerate(later, 1):
            found = each.wait(_LONG_SECONDS)
            # the callee may come back after its caller
            self.assertIn(found, (number, "UNKNOWN_WORKER"))
            self.assertEqual(self.runs.count(number), 1 if found == number else 0, "runs of call %d" % number)
        self.assertEqual(indefinitely.wait(_LONG_SECONDS), "own")
        self.assertEqual((server.info, caller.info), before)
        self.assertEqual(caller.call("test.run", to=str(before[0].id), key=9), 9)
        self.gate.set()

    def test_a_call_ends_at_its_deadline_without_a_gateway(self) -> None:
        _, caller = self.pair()
        self.kill()
        with self.assertRaises(waybill.CallTimeout) as raised:
            caller.call("test.run", to="server", key=1, timeout=_SHORT_SECONDS)
        expected = r"RPC ran for more than set timeout \(300 ms\).*; it was not sent, as this process has no connection"
        self.assertRegex(str(raised.exception), expected)
        self.assertEqual(self.runs, [])

    def test_a_call_whose_future_is_wanted_does_not_wait(self) -> None:
        _, caller = self.pair()
        self.kill()
        wait_until(caller._worker.connection.has_ended)
        sent = bytearray(b"sent" * 4096)

        def begin(timeout: float) -> "Future[Any]":
            future: "Future[Any]" = Future()

            def finish(exchange: Any) -> None:
                try:
                    future.set_result(caller._worker.result_of(exchange.outcome()))
                except BaseException as e:
                    future.set_exception(e)

            caller._worker.call_python(
                "caller", bytes, (pickle.PickleBuffer(sent),), {}, int(timeout * 1e9), listener=finish
            )
            return future

        early, late = begin(_SHORT_SECONDS), begin(_LONG_SECONDS)
        with self.assertRaisesRegex(waybill.CallTimeout, r"timeout \(300 ms\).*; it was not sent"):
            early.wait(_LONG_SECONDS)
        self.assertFalse(late.done())
        sent[:] = b"more" * 4096
        self.start()
        self.assertEqual(late.wait(_LONG_SECONDS), b"sent" * 4096)
        self.kill()
        wait_until(caller._worker.connection.has_ended)
        unsent = begin(_LONG_SECONDS)
        caller.close()
        with self.assertRaisesRegex(waybill.WorkerLost, "this worker has left the home"):
            unsent.wait(_LONG_SECONDS)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "there is no numpy")
    def test_arrays_in_flight_arrive_or_are_lost_whole(self) -> None:
        import numpy as np

        _, caller = self.pair()
        errors: List[str] = []
        done = threading.Event()
        counts = [0, 0]

        def work(seed: int) -> None:
            random = np.random.default_rng(seed)
            while not done.is_set():
                arrays = [random.integers(0, 256, size, np.uint8) for size in (10, 5_000, 300_000, 2_000_000)]
                try:
                    found = caller.call("test.run", to="server", key=arrays, timeout=_LONG_SECONDS)
                except (waybill.WorkerLost, waybill.CallError) as e:
                    if e.code not in ("WORKER_LOST", "UNKNOWN_WORKER"):
                        errors.append("%s: %s" % (e.code, e))
                    counts[1] += 1
                    continue
                if any(not np.array_equal(a, np.asarray(b)) for a, b in zip(arrays, found)):
                    errors.append("other bytes")
                counts[0] += 1

        threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            before = counts[0]
            wait_until(lambda: counts[0] > before + 3 or bool(errors))
            self.kill()
            self.start()
        before = counts[0]
        wait_until(lambda: counts[0] > before + 3 or bool(errors))
        done.set()
        for thread in threads:
            thread.join(_LONG_SECONDS)
        self.assertEqual(errors, [])
        self.assertGreater(counts[1], 0, "calls that were in flight when the gateway ended")
        self.runs.clear()

    def test_the_end_of_a_process_waits_for_no_gateway(self) -> None:
        server, caller = self.pair()
        self.kill()
        wait_until(caller._worker.connection.has_ended)
        waiting = in_background(caller.call, "test.run", to="server", key=1, timeout=0)
        wait_until(lambda: threads().count("waybill-reconnect") == 2)
        caller.close()
        server.close()
        self.assertEqual(waiting.wait(_LONG_SECONDS), "CLOSED")
        self.assertEqual(outcome_of(caller.call, "test.run", to="server", key=1), "CLOSED")
        wait_until(lambda: "waybill-reconnect" not in threads())

    def test_nothing_is_left_of_connections_that_ended(self) -> None:
        _, caller = self.pair()

        def restart() -> Tuple[List[str], int]:
            self.kill()
            self.start()
            wait_until(lambda: outcome_of(caller.call, "test.run", to="server", key=1) == 1)
            wait_until(lambda: "waybill-reconnect" not in threads())
            gc.collect()
            return threads(), len(os.listdir("/proc/self/fd"))

        first = restart()
        for _ in range(3):
            found = restart()
        # a thread that serves may have been started
        self.assertLessEqual(len(found[0]), len(first[0]) + 2, found[0])
        self.assertEqual(found[1], first[1], "open files")

    def test_a_forked_process_does_not_connect(self) -> None:
        _, caller = self.pair()
        self.kill()
        wait_until(caller._worker.connection.has_ended)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            found = outcome_of(caller.call, "test.run", to="server", key=1, timeout=0)
            os.write(writing, str(found).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as found:
            self.assertEqual(found.read(), "CLOSED")
        os.waitpid(child, 0)

    def test_a_name_that_is_taken_is_asked_for_again(self) -> None:
        _, caller = self.pair()
        self.kill()
        elsewhere = self.path + "-elsewhere"
        self.router = group.start_router(elsewhere)
        # in this order: a name has one id in a home
        Client("server", socket=elsewhere, serve=False).close()
        other = Client("caller", socket=elsewhere, serve=False)
        os.rename(elsewhere, self.path)
        wait_until(lambda: "a live worker has the name caller" in caller._worker._connections._why)
        with self.assertRaisesRegex(waybill.CallTimeout, "a live worker has the name caller"):
            caller.call("test.run", to="caller", key=1, timeout=_SHORT_SECONDS)
        other.close()
        self.assertEqual(caller.call("test.run", to="caller", key=2, timeout=_LONG_SECONDS), 2)


if __name__ == "__main__":
    unittest.main()
