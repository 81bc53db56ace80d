"""Results of calls that are in flight, for programs without torch: the part of ``torch.futures`` that calls need."""

import os
import threading
from typing import Any, Callable, Generic, Iterable, List, Optional, TypeVar

from waybill import timeouts

T = TypeVar("T")
Callback = Callable[["Future[Any]"], Any]


class Future(Generic[T]):
    """The result of a call, or of a callback on another future.

    Callbacks run on the thread that completes the future, in the order in which they were added. A callback on a
    completed future runs at once, on the thread that adds it.
    """

    __slots__ = ("_lock", "_done", "_value", "_error", "_callbacks", "_pid", "__weakref__")

    def __init__(self) -> None:
        self._lock = threading.Condition(threading.Lock())
        self._done = False
        self._value: Any = None
        self._error: Optional[BaseException] = None
        self._callbacks: List[Callback] = []
        self._pid = os.getpid()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("Can not pickle waybill.futures.Future")

    def done(self) -> bool:
        """Returns whether the future has a value or an error."""
        return self._done

    def wait(self, timeout: Optional[float] = None) -> T:
        """Waits for the value and returns it, or raises the error.

        :param timeout: in seconds; None means no limit, and 0 that it does not wait
        :raises TimeoutError: at its end
        """
        if not self._done and self._pid != os.getpid():
            raise RuntimeError(
                "future: expected a wait in the process that made it (pid %d), where it is completed, found one in a "
                "forked child (pid %d); wait before the fork, or call in the child" % (self._pid, os.getpid())
            )
        limit = timeouts.to_wait(timeout)
        with self._lock:
            if not self._lock.wait_for(lambda: self._done, limit):
                raise TimeoutError("future: expected its value within %s s, found none" % timeout)
        return self.value()

    def value(self) -> T:
        """The value of a completed future; raises its error."""
        if not self._done:
            raise RuntimeError("future: expected its value, found that it is not completed; call wait() first")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: T) -> None:
        """Completes the future with a value."""
        self._complete(result, None)

    def set_exception(self, error: BaseException) -> None:
        """Completes the future with an error."""
        if not isinstance(error, BaseException):
            raise TypeError("future: expected an exception, found %s" % type(error).__name__)
        self._complete(None, error)

    def then(self, callback: Callable[["Future[T]"], Any]) -> "Future[Any]":
        """Runs the callback with this future when it is completed; returns a future of what the callback returns."""
        if not callable(callback):
            raise TypeError("future: expected a callable callback, found %s" % type(callback).__name__)
        result: "Future[Any]" = Future()

        def run(completed: "Future[Any]") -> None:
            try:
                value = callback(completed)
            except Exception as e:
                result.set_exception(e)
            else:
                result.set_result(value)

        self._add(run)
        return result

    def add_done_callback(self, callback: Callable[["Future[T]"], None]) -> None:
        """Runs the callback with this future when it is completed. What the callback raises is printed and dropped."""

        def run(completed: "Future[Any]") -> None:
            try:
                callback(completed)
            except Exception:
                import traceback

                traceback.print_exc()

        self._add(run)

    def _add(self, callback: Callback) -> None:
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def _complete(self, value: Any, error: Optional[BaseException]) -> None:
        with self._lock:
            if self._done:
                raise RuntimeError("Future can only be marked completed once: found that it has a value or an error")
            self._value = value
            self._error = error
            self._done = True
            callbacks = self._callbacks
            self._callbacks = []
            self._lock.notify_all()
        for callback in callbacks:
            callback(self)


def collect_all(futures: Iterable["Future[Any]"]) -> "Future[List[Future[Any]]]":
    """A future of all of the futures, completed when the last of them is."""
    waited = list(futures)
    result: "Future[List[Future[Any]]]" = Future()
    left = [len(waited)]
    lock = threading.Lock()
    if not waited:
        result.set_result([])

    def count(_: "Future[Any]") -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            result.set_result(waited)

    for future in waited:
        future.add_done_callback(count)
    return result


def wait_all(futures: Iterable["Future[Any]"]) -> List[Any]:
    """Waits for all futures and returns their values; raises the first error as soon as there is one.

    They may be torch's.
    """
    waited = list(futures)
    over: "Future[None]" = Future()
    lock = threading.Lock()
    left = [len(waited)]

    def count(completed: "Future[Any]") -> None:
        try:
            completed.value()
            failed = False
        except BaseException:
            failed = True
        with lock:
            left[0] -= 1
            if (failed or left[0] == 0) and not over.done():
                over.set_result(None)

    for future in waited:
        future.add_done_callback(count)
    if waited:
        over.wait()
    for future in waited:
        if future.done():
            future.value()
    return [future.value() for future in waited]
