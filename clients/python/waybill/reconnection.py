"""The connection of a worker, and those that follow it: its gateway restarts, and the process goes on."""

import os
import random
import threading
import time
from typing import Callable, Optional, Sequence

from waybill import timeouts
from waybill.connection import Connection
from waybill.errors import CallTimeout, NotSent, WorkerLost, timeout_text

# between two attempts; the first ones follow the end of a connection that has lasted
_FIRST_PAUSE = 0.05
_MAX_PAUSE = 1.0
_LASTING_SECONDS = 5.0
Connect = Callable[[str, Callable[[], bool]], Connection]


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
                    raise WorkerLost("call not sent: this worker has left the home", "CLOSED") from ended
                self._begin()
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise CallTimeout(
                        "%s; it was not sent, as this process has no connection to a gateway: %s"
                        % (timeout_text(timeouts.in_ms(timeout_ns)), self._why or ended),
                        "TIMED_OUT",
                    ) from None
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
            self._changed.notify_all()

    def _is_own(self) -> bool:
        return self._pid == os.getpid()

    def _is_wanted(self) -> bool:
        return not self._closed

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
            with self._changed:
                # not all processes of a gateway at one moment
                self._changed.wait_for(lambda: self._closed, self._pause * random.uniform(0.5, 1))
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
                    self._changed.notify_all()
                    break
        if connection is not None:
            if self._closed:
                connection.close()
            else:
                log.warning("%s: connected again, to the gateway at %s", connection.name, connection.path)

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
