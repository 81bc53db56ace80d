"""Tests of who reads a connection."""

import signal
import time
import unittest
from typing import Any, Callable, List, Type

from tests import group
from tests.test_rpc import in_group
from waybill import rpc
from waybill.executor import Executor
from waybill.rpc import state
from waybill.turns import Turns

LIMIT_SECONDS = 120


def same(value: Any) -> Any:
    return value


def late(seconds: float) -> None:
    time.sleep(seconds)


def call_back(value: Any) -> Any:
    return rpc.rpc_sync("worker0", same, args=(value,))


def until(what: str, is_met: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not is_met():
        if time.monotonic() > end:
            raise AssertionError("expected within %d s that %s" % (LIMIT_SECONDS, what))
        time.sleep(0.01)


def turns() -> Turns:
    return state.current_agent().worker.connection.turns


def sleeps(found: Turns) -> bool:
    """Whether one thread reads, and no other one looks at it."""
    return not found._free and (found._resting or not found._watching.locked())


def refuse() -> None:
    raise RuntimeError("can't start new thread")


class Interrupted(Exception):
    """Raised by a signal."""


class TurnsTest(unittest.TestCase):
    def run_in_group(self, test: Callable[[], Any]) -> Any:
        return group.run(in_group, 2, test, 2)[0]

    def test_a_signal_ends_a_wait_and_loses_nothing(self) -> None:
        def test() -> List[int]:
            def interrupt(*_: Any) -> None:
                raise Interrupted

            signal.signal(signal.SIGALRM, interrupt)
            interrupted = 0
            for number in range(3000):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.00002 * (number % 40 + 1))
                    found = rpc.rpc_sync("worker1", same, args=(number,))
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    if found != number:
                        raise AssertionError("expected %d, found %d" % (number, found))
                except Interrupted:
                    interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            return [interrupted > 0, rpc.rpc_sync("worker1", call_back, args=(7,))]

        self.assertEqual(self.run_in_group(test), [True, 7])

    def test_a_signal_ends_a_wait_of_the_thread_that_reads_and_not_the_connection(self) -> None:
        for error in (Interrupted, TimeoutError, KeyboardInterrupt):

            def test(error: Type[BaseException] = error) -> int:
                read = turns()
                interrupted = 0

                def interrupt(*_: Any) -> None:
                    nonlocal interrupted
                    if read._right._is_owned():
                        interrupted += 1
                        raise error

                def is_interrupted_often() -> bool:
                    for number in range(4):
                        rpc.rpc_sync("worker1", same, args=(number,))
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0.005)
                        rpc.rpc_sync("worker1", late, args=(0.02,))
                    except error:
                        pass
                    return interrupted >= 5

                signal.signal(signal.SIGALRM, interrupt)
                until("a thread that reads is interrupted", is_interrupted_often)
                return rpc.rpc_sync("worker1", call_back, args=(7,))

            with self.subTest(error=error.__name__):
                self.assertEqual(self.run_in_group(test), 7)

    def test_several_threads_call_and_are_called_at_once(self) -> None:
        def test() -> List[int]:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(8) as threads:
                calls = [threads.submit(rpc.rpc_sync, "worker1", call_back, (number,)) for number in range(400)]
                return [call.result(LIMIT_SECONDS) for call in calls]

        self.assertEqual(self.run_in_group(test), list(range(400)))

    def test_a_process_that_can_have_no_more_threads_serves_on(self) -> None:
        read, ran = [], []

        def receive(_may_run: bool) -> bool:
            read.append(len(read))
            if len(read) == 1:
                found.run(ran.append, "request")
            else:
                found.over = True
            return False

        found = Turns(receive, lambda: False, Executor(1))
        found.start = refuse  # type: ignore[method-assign]
        found._run()
        self.assertEqual((ran, read), (["request"], [0, 1]), "the request, and what was read behind it")

    def test_a_process_at_rest_looks_at_nothing(self) -> None:
        def test() -> bool:
            for number in range(20):
                rpc.rpc_sync("worker1", call_back, args=(number,))
            found = turns()
            until("one thread reads and none stands by awake", lambda: sleeps(found))
            marks = found._marks
            time.sleep(0.2)
            return sleeps(found) and found._marks == marks and rpc.rpc_sync("worker1", same, args=(True,))

        self.assertTrue(self.run_in_group(test))


if __name__ == "__main__":
    unittest.main()
