"""Turns at reading a connection: a thread that waits for a response, or a separate one, which runs the requests."""

import collections
import threading
from typing import Any, Callable, Deque, Optional

from waybill.executor import Executor

# how long the connection may be without a reader before the standby thread reads
_TICK_SECONDS = 0.001
_TICKS_TO_REST = 100


class Waiting:
    """A wait for something that a frame brings."""

    __slots__ = ("done", "_signal")

    def __init__(self) -> None:
        self.done = False
        self._signal: Optional[Any] = None

    def ring(self) -> None:
        """Wakes the waiting thread, if any."""
        signal = self._signal
        if signal is not None:
            try:
                signal.release()
            except RuntimeError:
                # it was rung before, and has not looked yet
                pass

    def rest(self) -> None:
        """Waits until it is rung."""
        assert self._signal is not None
        self._signal.acquire()

    def expect_ring(self) -> None:
        """Prepares :meth:`rest`: what rings from now on is not lost."""
        if self._signal is None:
            signal = threading.Lock()
            signal.acquire()
            self._signal = signal


class Turns:
    """The right to read a connection; one thread has it at a time.

    A thread that waits for a response takes the right if it is free, and reads until the response is there. Otherwise a
    thread of this object reads. It runs a request itself, without the right. Another thread stands by, and takes
    the right when it was free for a millisecond; while another thread reads and nothing comes, it sleeps.
    """

    def __init__(self, read: Callable[[bool], bool], has_more: Callable[[], bool], executor: Executor) -> None:
        self._read = read
        self._has_more = has_more
        self._executor = executor
        # reentrant: a signal's exception may skip a release, and the next wait of the same thread makes up for it
        self._right: Any = threading.RLock()
        self._free = True
        self._watching = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._resting = False
        # changes with each frame and each thread that leaves; written by the thread that reads
        self._marks = 0
        self._waiting: Deque[Waiting] = collections.deque()
        self.over = False

    def start(self) -> None:
        """Begins to read, on a thread of its own."""
        thread = threading.Thread(target=self._run, name="waybill-reader", daemon=True)
        setattr(thread, "waybill_executor", self._executor)
        thread.start()

    def end(self) -> None:
        """Ends the threads."""
        self.over = True
        self._ring()

    def is_reader(self) -> bool:
        """Returns whether the calling thread reads, and calls this while it handles a frame."""
        return bool(self._right._is_owned())

    # A thread that waits

    def wait(self, wanted: Waiting) -> None:
        """Waits until it is done, and reads meanwhile if no other thread does."""
        while not wanted.done:
            try:
                if self._take():
                    while not self.over and (not wanted.done or self._has_more()):
                        self._marks += 1
                        self._read(False)
            finally:
                while self._right._is_owned():
                    self._leave()
            if wanted.done:
                return
            wanted.expect_ring()
            self._waiting.append(wanted)
            if not (wanted.done or self._free):
                wanted.rest()

    # A thread of its own

    def _run(self) -> None:
        while not self.over and (self._take() or self._stand_by()):
            if not self._read_on():
                return

    def _read_on(self) -> bool:
        """Reads until another thread does; false when this one is no longer needed, as another one stands by."""
        while not self.over and self._right._is_owned():
            self._marks += 1
            rang = self._read(True)
            if rang and self._right._is_owned():
                # whose response this was will read the next one itself
                self._leave()
                if not self._stand_by():
                    return False
        while self._right._is_owned():
            self._leave()
        return True

    def run(self, task: Callable[..., None], *arguments: Any) -> None:
        """Runs a request that the calling thread has read, without the right to read."""
        if not self._executor.enter():
            self._executor.submit(task, *arguments)
            return
        try:
            if not self._watching.locked():
                try:
                    self.start()
                except RuntimeError:
                    # the process can't have another thread: this one reads again after the request
                    pass
            self._leave()
            task(*arguments)
        finally:
            self._executor.leave()
        del arguments
        self._take()

    def _stand_by(self) -> bool:
        """Waits until the right is free, and takes it; false when another thread stands by."""
        return self._watching.acquire(False) and self._watch()

    def _watch(self) -> bool:
        try:
            seen = -1
            quiet = 0
            while not self.over:
                marks = self._marks
                if marks != seen:
                    seen = marks
                    quiet = 0
                elif self._free:
                    if self._take():
                        return True
                else:
                    quiet += 1
                if quiet < _TICKS_TO_REST:
                    self._bell.acquire(True, _TICK_SECONDS)
                    continue
                self._resting = True
                if not self._free and marks == self._marks:
                    self._bell.acquire()
                self._resting = False
                quiet = 0
            return False
        finally:
            self._watching.release()

    # The right

    def _take(self) -> bool:
        if not self._free or not self._right.acquire(False):
            return False
        self._free = False
        return True

    def _leave(self) -> None:
        self._marks += 1
        self._free = True
        self._right.release()
        while self._waiting:
            try:
                next_one = self._waiting.popleft()
            except IndexError:
                break
            if not next_one.done:
                next_one.ring()
                break
        if self._resting:
            self._ring()

    def _ring(self) -> None:
        try:
            self._bell.release()
        except RuntimeError:
            # it was rung before
            pass
