"""The connection of a worker, and those that follow it: its gateway restarts, and the process goes on."""

import os
import random
import threading
import time
from typing import Any, Callable, List, Optional, Sequence

from waybill import timeouts
from waybill.connection import Connection
from waybill.errors import CallTimeout, NotSent, WorkerLost, timeout_text

# between two attempts; the first ones follow the end of a connection that has lasted
_FIRST_PAUSE = 0.05
_MAX_PAUSE = 1.0
_LASTING_SECONDS = 5.0
_LEFT = "call not sent: this worker has left the home"
Connect = Callable[[str, Callable[[], bool]], Connection]


class Deferred:
    """A call that was made while there was no connection, and for whose outcome no thread waits.

    It gets the one that follows, or fails at its end.
    """

    def __init__(
        self,
        send: Callable[[Connection, int], Any],
        fail: Callable[[BaseException], None],
        timeout_ns: int,
        limit_ns: int,
    ) -> None:
        """Begins to wait.

        :param send: sends it through a connection, with a timeout in ns
        :param fail: gives it its error
        :param timeout_ns: of the call; 0 for none
        :param limit_ns: of the wait; 0 for none
        """
        self._send = send
        self.fail = fail
        self._timeout_ns = timeout_ns
        self.limit_ns = limit_ns
        self.end = time.monotonic() + limit_ns / 1e9 if limit_ns else None

    def left(self) -> float:
        """Seconds until its end."""
        return float("inf") if self.end is None else self.end - time.monotonic()

    def send(self, connection: Connection) -> bool:
        """Sends it; False if that connection has ended, too."""
        left_ns = self._timeout_ns
        if left_ns and self.end is not None:
            left_ns = max(1, min(left_ns, int(self.left() * 1e9)))
        try:
            self._send(connection, left_ns)
        except NotSent:
            return False
        except BaseException as e:
            self.fail(e)
        return True


class Connections:
    """The present connection of a worker. When it has ended, a thread connects again until it succeeds. Thread-safe.

    There is at most one such thread, while there is no connection. A process that was forked gets none.
    """

    def __init__(self, first: Connection, connect: Optional[Connect], paths: Callable[[], Sequence[str]]) -> None:
        """Takes over the first connection.

        :param connect: connects to a path, as long as a function says that this is wanted; None: never again
        :param paths: of sockets that may be of the home's gateways; the first ones are tried first
        """
        self.present = first
        self._connect = connect
        self._paths = paths
        self._changed = threading.Condition()
        self._closed = False
        self._is_connecting = False
        self._pid = os.getpid()
        self._since = time.monotonic()
        self._pause = _FIRST_PAUSE
        self._why = ""
        self._deferred: List[Deferred] = []

    def later(self, ended: NotSent, connection: Connection, deferred: Deferred) -> None:
        """Sends a call through the connection that follows one, or fails it at its end. Does not wait.

        :param ended: raised where there will be none
        """
        if self._connect is None or not self._is_own():
            raise ended
        with self._changed:
            if self._closed:
                raise WorkerLost(_LEFT, "CLOSED") from ended
            following = self.present
            if following is connection or following.has_ended():
                self._begin()
                if not self._is_connecting:
                    # the process can't have another thread now
                    raise ended
                self._deferred.append(deferred)
                self._changed.notify_all()
                return
        if not deferred.send(following):
            self.later(ended, following, deferred)

    def _expire(self) -> None:
        """Fails the calls whose time is over."""
        with self._changed:
            due = [each for each in self._deferred if each.left() <= 0]
            self._deferred = [each for each in self._deferred if each not in due]
        for each in due:
            each.fail(self._timed_out(each.limit_ns, self._why))

    @staticmethod
    def _timed_out(limit_ns: int, why: Any) -> CallTimeout:
        return CallTimeout(
            "%s; it was not sent, as this process has no connection to a gateway: %s"
            % (timeout_text(timeouts.in_ms(limit_ns)), why),
            "TIMED_OUT",
        )

    def following(self, ended: NotSent, connection: Connection, timeout_ns: int, end: Optional[float]) -> Connection:
        """Waits for the connection that follows one.

        :param ended: raised where there will be none
        :param timeout_ns: of the call that waits, for its error
        :param end: of the wait, of the monotonic clock; None: it has none
        :raises CallTimeout: at the end
        """
        if self._connect is None or not self._is_own() or connection.turns.is_reader():
            raise ended
        with self._changed:
            while self.present is connection or self.present.has_ended():
                if self._closed:
                    raise WorkerLost(_LEFT, "CLOSED") from ended
                self._begin()
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise self._timed_out(timeout_ns, self._why or ended) from None
                if not self._is_connecting:
                    # no thread is to be had: look again
                    left = _MAX_PAUSE if left is None else min(left, _MAX_PAUSE)
                self._changed.wait(left if left is None else min(left, timeouts.MAX_WAIT_SECONDS))
            return self.present

    def lost(self, connection: Connection, error: BaseException) -> bool:
        """Says that a connection has ended; returns whether another one will follow."""
        if self._connect is None or not self._is_own():
            return False
        with self._changed:
            if self._closed:
                return False
            if connection is self.present:
                self._why = str(error)
                if time.monotonic() - self._since > _LASTING_SECONDS:
                    self._pause = _FIRST_PAUSE
                self._begin()
            return True

    def close(self) -> None:
        """Connects no more; calls that wait for a connection fail."""
        if not self._is_own():
            return
        with self._changed:
            self._closed = True
            deferred, self._deferred = self._deferred, []
            self._changed.notify_all()
        for each in deferred:
            each.fail(WorkerLost(_LEFT, "CLOSED"))

    def _is_own(self) -> bool:
        return self._pid == os.getpid()

    def _is_wanted(self) -> bool:
        # asked now and then while a gateway does not admit this process
        self._expire()
        return not self._closed

    def _rest(self, seconds: float) -> None:
        """Waits for so long, or until the worker leaves; fails calls whose time is over meanwhile."""
        end = time.monotonic() + seconds
        while True:
            self._expire()
            with self._changed:
                left = min([end - time.monotonic(), *(each.left() for each in self._deferred)])
                if self._closed or time.monotonic() >= end:
                    return
                self._changed.wait(max(0.0, left))

    def _begin(self) -> None:
        """Starts the thread if there is none; with the lock."""
        if self._is_connecting or not self.present.has_ended():
            return
        try:
            threading.Thread(target=self._run, name="waybill-reconnect", daemon=True).start()
            self._is_connecting = True
        except RuntimeError:
            # the process can't have another thread now: who waits tries again
            pass

    def _run(self) -> None:
        import logging

        log = logging.getLogger("waybill")
        log.warning("%s: the connection to the gateway ended; connecting again: %s", self.present.name, self._why)
        while True:
            # not all processes of a gateway at one moment
            self._rest(self._pause * random.uniform(0.5, 1))
            self._pause = min(2 * self._pause, _MAX_PAUSE)
            connection = None if self._closed else self._attempt()
            with self._changed:
                if connection is not None and not self._closed:
                    self.present = connection
                    self._since = time.monotonic()
                    if connection.has_ended():
                        continue
                if connection is not None or self._closed:
                    self._is_connecting = False
                    deferred, self._deferred = self._deferred, []
                    self._changed.notify_all()
                    break
        if connection is not None:
            if self._closed:
                connection.close()
            else:
                log.warning("%s: connected again, to the gateway at %s", connection.name, connection.path)
        for each in deferred:
            self._send(each, connection)

    def _send(self, deferred: Deferred, connection: Optional[Connection]) -> None:
        try:
            if connection is None or not deferred.send(connection):
                self.later(NotSent(_LEFT, "WORKER_LOST"), connection or self.present, deferred)
        except BaseException as e:
            deferred.fail(e)

    def _attempt(self) -> Optional[Connection]:
        """A connection that reads, to the first gateway that takes it; None if there is none."""
        present = self.present.path
        for path in [present, *(other for other in self._paths() if other != present)]:
            try:
                connection = self._connect(path, self._is_wanted)  # type: ignore[misc]
            except (FileNotFoundError, ConnectionRefusedError) as e:
                self._why = "%s: %s" % (path, e)
                continue
            except Exception as e:
                # such as a name that is still taken
                self._why = "%s: %s" % (path, e)
                return None
            try:
                connection.start()
                return connection
            except RuntimeError as e:
                self._why = str(e)
                connection.discard()
                return None
        return None
