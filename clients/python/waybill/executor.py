"""Threads that run requests and callbacks."""

import collections
import sys
import threading
import traceback
from typing import Any, Callable, Deque, Tuple

Task = Tuple[Callable[..., Any], Tuple[Any, ...]]


class NoThread(RuntimeError):
    """A task for which the process can't start a thread, and none runs that would take it."""


class Executor:
    """Up to ``limit`` daemon threads, started when there is work and none of them rests.

    Where the process can't start another one, tasks wait for those there are.

    A thread that waits for another call, between :meth:`before_wait` and :meth:`after_wait`, is not counted: nested
    calls cannot use up the threads.
    """

    def __init__(self, limit: int, name: str = "waybill") -> None:
        self.limit = limit
        self._name = name
        self._tasks: Deque[Task] = collections.deque()
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._resting = 0
        self._threads = 0
        self._waiting = 0
        self._active = 0
        self._closed = False

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Runs the function on a thread of this executor; raises :class:`NoThread` if there is none for it."""
        with self._lock:
            if self._closed:
                return
            self._tasks.append((function, arguments))
            if not self._wake():
                self._tasks.pop()
                raise NoThread("the process can start no thread for it: raise its limit (ulimit -u, or pids.max)")

    def submit_or_run(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Runs the function on a thread of this executor, or on the calling one if there is none; raises nothing."""
        try:
            self.submit(function, *arguments)
        except NoThread:
            _run_safely(function, arguments)

    def _wake(self) -> bool:
        """Has a thread take a task. Returns whether there is one that will."""
        if self._resting >= len(self._tasks):
            self._work.notify()
        elif self._threads - self._waiting < self.limit:
            thread = threading.Thread(target=self._run, name="%s-%d" % (self._name, self._threads + 1), daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return self._threads > self._waiting
            self._threads += 1
        elif self._resting:
            self._work.notify()
        return True

    def enter(self) -> bool:
        """Counts the calling thread, which is not one of this executor, as one that runs a task; False at the limit."""
        with self._lock:
            if self._closed or self._tasks or self._threads - self._waiting >= self.limit:
                return False
            self._threads += 1
            self._active += 1
            return True

    def leave(self) -> None:
        """Ends what a true :meth:`enter` began, and runs what waits if no other thread will."""
        while True:
            with self._lock:
                self._threads -= 1
                self._active -= 1
                if not self._tasks or self._wake():
                    return
                function, arguments = self._tasks.popleft()
                self._threads += 1
                self._active += 1
            _run_safely(function, arguments)
            del function, arguments

    def before_wait(self) -> bool:
        """Says that this thread waits for another call; True if it is one of this executor's."""
        if getattr(threading.current_thread(), "waybill_executor", None) is not self:
            return False
        with self._lock:
            self._waiting += 1
            if self._tasks:
                self._wake()
        return True

    def after_wait(self) -> None:
        """Says that the wait of a thread for which :meth:`before_wait` was True is over."""
        with self._lock:
            self._waiting -= 1

    def idle(self) -> int:
        """Number of threads that may take work now."""
        with self._lock:
            return max(0, self.limit - self._active)

    def active(self) -> int:
        """Number of tasks that run or wait for a thread."""
        with self._lock:
            return self._active + len(self._tasks)

    def close(self) -> None:
        """Lets the threads end after their present task; queued tasks are dropped."""
        with self._lock:
            self._closed = True
            self._tasks.clear()
            self._work.notify_all()

    def _run(self) -> None:
        setattr(threading.current_thread(), "waybill_executor", self)
        while True:
            with self._lock:
                while not self._tasks:
                    if self._closed or self._threads - self._waiting > self.limit:
                        self._threads -= 1
                        return
                    self._resting += 1
                    self._work.wait()
                    self._resting -= 1
                function, arguments = self._tasks.popleft()
                self._active += 1
            _run_safely(function, arguments)
            del function, arguments
            with self._lock:
                self._active -= 1


def _run_safely(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> None:
    try:
        function(*arguments)
    except BaseException:
        print("waybill: error on a thread for requests", file=sys.stderr)
        traceback.print_exc()
