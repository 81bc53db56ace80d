"""Tests of the threads that run requests and callbacks."""

import contextlib
import io
import threading
import time
import unittest
from typing import Any, List
from unittest import mock

from tests import group
from tests.test_rpc import in_group
from waybill import rpc
from waybill.connection import Incoming
from waybill.errors import NUMBERS, CallError
from waybill.executor import Executor, NoThread
from waybill.worker import Worker


def refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def no_more_threads() -> Any:
    return mock.patch.object(threading.Thread, "start", refuse)


def forbid_threads() -> None:
    no_more_threads().start()


def outcome_of(call: Any) -> Any:
    try:
        return call.wait()
    except CallError as e:
        return e.code


def late(value: Any) -> Any:
    time.sleep(0.02)
    return value


class ExecutorTest(unittest.TestCase):
    def test_a_task_waits_for_a_thread_where_no_other_can_be_started(self) -> None:
        executor = Executor(4)
        begun, go_on, ran = threading.Event(), threading.Event(), threading.Event()

        def held() -> None:
            begun.set()
            go_on.wait(60)

        executor.submit(held)
        self.assertTrue(begun.wait(60))
        with no_more_threads():
            executor.submit(ran.set)
        self.assertFalse(ran.is_set())
        self.assertEqual(executor.active(), 2, "one task runs, and one waits for its thread")
        go_on.set()
        self.assertTrue(ran.wait(60), "the task ran on the thread that was there")
        executor.close()

    def test_a_task_without_any_thread_is_refused_and_counted_nowhere(self) -> None:
        executor = Executor(1)
        ran: List[int] = []
        with no_more_threads():
            for _ in range(3):
                with self.assertRaisesRegex(NoThread, "can start no thread for it: raise its limit"):
                    executor.submit(ran.append, 1)
            executor.submit_or_run(ran.append, 2)
            with contextlib.redirect_stderr(io.StringIO()) as printed:
                executor.submit_or_run(refuse, 3)
        self.assertIn("can't start new thread", printed.getvalue(), "the error of what ran on this thread")
        self.assertEqual((ran, executor.active(), executor.idle()), ([2], 0, 1))
        later = threading.Event()
        executor.submit(later.set)
        self.assertTrue(later.wait(60), "a thread could be started again")
        executor.close()

    def test_a_worker_without_more_threads_keeps_its_connection(self) -> None:
        def test() -> List[Any]:
            rpc.rpc_sync("worker1", forbid_threads)
            calls = [rpc.rpc_async("worker1", late, args=(number,), timeout=30) for number in range(30)]
            outcomes = [outcome_of(call) for call in calls]
            return outcomes + [outcome_of(rpc.rpc_async("worker1", late, args=(30,), timeout=30))]

        outcomes = group.run(in_group, 2, test, 2)[0]
        self.assertEqual(outcomes[30], 30, "the last call")
        for number, outcome in enumerate(outcomes):
            self.assertIn(outcome, (number, "REFUSED"), "call %d" % number)

    def test_a_request_without_a_thread_is_refused(self) -> None:
        refused: List[Any] = []

        class Recorded:
            requests = {7: False}

            def fail(self, *error: Any) -> None:
                refused.append(error)

        worker = Worker.__new__(Worker)
        worker.waits = None
        connection: Any = Recorded()
        with no_more_threads():
            incoming = Incoming(7, None, memoryview(b""), 0, connection)  # type: ignore[arg-type]
            worker.on_call(incoming, Executor(1).submit)
        self.assertEqual(len(refused), 1)
        exchange, code, _, text = refused[0][:4]
        self.assertEqual((exchange, code, connection.requests), (7, NUMBERS["REFUSED"], {}))
        self.assertIn("the request was not run: the process can start no thread", text)


if __name__ == "__main__":
    unittest.main()
