"""A process's connection to a gateway: frames in both directions, calls in flight, regions and releases."""

import collections
import itertools
import operator
import os
import select
import socket
import struct
import sys
import threading
import weakref
from functools import partial, reduce
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence, Tuple

from waybill import frames, parts
from waybill.errors import CallError, NotSent, ProtocolError, WorkerLost, call_error
from waybill.executor import Executor
from waybill.frames import Bytes, Message, Reference
from waybill.storages import Storages
from waybill.turns import Turns, Waiting
from waybill.values import Invocation, decode_value, encode_invocation, encode_value

# numbers of a RELEASE or DROP frame
_MAX_NUMBERS = 1024
# bytes of one receive
_CHUNK = 1 << 16
_MAX_CHUNK = 1 << 20
# how often a gateway that has not said WELCOME yet is looked at, and whether it is still wanted
_GREET_MS = 200
# pieces that are sent at a time
_MAX_PIECES = 512
_HEAD_SIZE = frames.HEAD.size
# whose errors are not those of a signal's handler
_OWN_MODULES = ("waybill", "threading")


class Outcome(NamedTuple):
    """The response to a call."""

    result: frames.Result
    message: Message


class Exchange(Waiting):
    """A call in flight from this process. Completed once, by the thread that reads the connection."""

    __slots__ = ("_connection", "_body", "_error", "listener", "_once")

    def __init__(self, connection: "Connection", listener: Optional[Callable[["Exchange"], None]]) -> None:
        super().__init__()
        self._connection = connection
        self._body: Optional[memoryview] = None
        self._error: Optional[BaseException] = None
        self.listener = listener
        # of reading a response that no thread waits for
        self._once: Optional[Any] = None

    def complete(self, body: Optional[memoryview], error: Optional[BaseException]) -> None:
        """Stores the response or the error and wakes the waiting thread or the listener; without effect when done."""
        if self.done:
            return
        self._body = body
        self._error = error
        self.done = True
        if self.listener is not None:
            self.listener(self)
        else:
            self.ring()

    def wait(self) -> Outcome:
        """Waits for the response and returns it, or raises the error."""
        self.rest_until_done()
        return self.outcome()

    def rest_until_done(self) -> None:
        """Waits for the response. An exception of a signal ends the wait, and the response is not read by anyone."""
        self._connection.check_process()
        try:
            self._connection.turns.wait(self)
        except BaseException:
            self._once = threading.Lock()
            self.listener = Exchange._discard
            if self.done:
                self._discard()
            raise

    def _discard(self) -> None:
        """Reads the response, so that what it holds is released."""
        if self._body is not None and self._once is not None and self._once.acquire(False):
            try:
                self.outcome()
            except (CallError, ProtocolError, OSError):
                # it is not wanted
                pass

    def outcome(self) -> Outcome:
        """The response of a completed call; raises its error."""
        return self.read(self._connection.storages.part)

    def read(self, part: Callable[[int, int, memoryview], memoryview]) -> Outcome:
        """The response of a completed call, whose parts are read by a function; raises its error."""
        if self._error is not None:
            raise self._error
        assert self._body is not None
        result, at = frames.read_result(self._body)
        return Outcome(result, self._connection.read_message(self._body, at, part))


class Incoming(NamedTuple):
    """A request that the gateway sent to this process, and the connection that takes the response."""

    exchange: int
    call: frames.Call
    body: memoryview
    at: int
    connection: "Connection"


class Listener:
    """Listener for events of a connection; called by the thread that reads it, which must not wait."""

    def on_call(self, incoming: Incoming, run: Callable[..., None]) -> None:
        """A request arrived. ``run`` calls a function with its arguments, on this thread or another one."""

    def on_forget(self, objects: List[Any]) -> None:
        """No reference names these objects any more, which were the last to be kept."""

    def on_lost(self, connection: "Connection", error: BaseException) -> None:
        """The connection ended, by the gateway or by a broken rule."""


def _always() -> bool:
    return True


# in this process; those of a process that this one was forked from are not its own
_open: "weakref.WeakSet[Connection]" = weakref.WeakSet()


class Connection:
    """Frames between this process and its gateway. Any thread may call; threads read :class:`in turns <Turns>`.

    When it has ended it stays so; :class:`waybill.reconnection.Connections` has the one that follows.
    """

    def __init__(
        self,
        path: str,
        hello: Dict[str, Any],
        listener: Listener,
        executor: Executor,
        is_wanted: Callable[[], bool] = _always,
    ) -> None:
        """Connects.

        :param is_wanted: asked while the gateway has not admitted the process; if not, this raises
        """
        self.path = path
        self._listener = listener
        self._executor = executor
        self.turns = Turns(self._read, self._has_more, executor)
        # what was received, and where in it the next frame begins; replaced as a whole
        self._input: Tuple[bytearray, int] = (bytearray(), 0)
        self._write_lock = threading.Lock()
        self._releases: Deque[Tuple[int, int]] = collections.deque()
        self._calls: Dict[int, Exchange] = {}
        self._calls_lock = threading.Lock()
        self._next = 0
        # requests of the gateway without a response, and whether it needs that no more
        self.requests: Dict[int, bool] = {}
        # that the gateway's references name, by numbers of this connection
        self.objects: Dict[int, Any] = {}
        self._numbers = itertools.count(1)
        self._end: Optional[BaseException] = None
        self._is_leaving = False
        self._left = threading.Event()
        self._pid = os.getpid()
        self._is_abandoned = False
        self.name = str(hello.get("name", ""))
        self.storages = Storages(self._tell, self._is_connected)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._arrival = select.poll()
        self._arrival.register(self._socket, select.POLLIN)
        try:
            self._socket.connect(path)
            self._check_peer(path)
            self.welcome = self._greet(hello, is_wanted)
        except BaseException:
            self.discard()
            raise
        self.max_frame = min(int(self.welcome["max_frame"]), frames.MAX_FRAME)
        self.name = str(self.welcome["name"])
        self.storages.welcomed(self.welcome)
        _open.add(self)

    def _check_peer(self, path: str) -> None:
        """Refuses a gateway of another user: what it sends is unpickled here."""
        uid = struct.unpack("3i", self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid not in (os.getuid(), 0):
            raise PermissionError(
                "gateway: expected one of uid %d or 0, found uid %d, at %s" % (os.getuid(), uid, path)
            )

    def discard(self) -> None:
        """Ends a connection that was not started."""
        self._socket.close()
        self.storages.close()

    def _greet(self, hello: Dict[str, Any], is_wanted: Callable[[], bool]) -> Dict[str, Any]:
        greeting = dict(hello, protocol=frames.PROTOCOL, pid=self._pid, **self.storages.greeting())
        self._socket.sendall(frames.frame(frames.HELLO, 0, encode_value(greeting)))
        while not self._arrival.poll(_GREET_MS):
            if not is_wanted():
                raise ConnectionAbortedError("the worker left before the gateway admitted it")
        kind, _, body, end = self._next_frame()
        self._taken(end)
        if kind == frames.FAILED:
            raise call_error(*frames.read_failed(body))
        welcome = decode_value(body) if kind == frames.WELCOME else None
        if not isinstance(welcome, dict) or welcome.get("protocol") != frames.PROTOCOL:
            raise ProtocolError("gateway: expected WELCOME of protocol %d, found kind %d" % (frames.PROTOCOL, kind))
        return welcome

    def start(self) -> None:
        """Begins to read. The listener is called from now on."""
        self.turns.start()

    # Calls of this process

    def call(
        self, call: frames.Call, message: Message, listener: Optional[Callable[[Exchange], None]] = None
    ) -> Exchange:
        """Sends a request. The listener, if any, is called by the reading thread when the call is completed.

        :raises NotSent: when the connection had ended, and so the call was not begun
        :raises WorkerLost: when a reference of the message belongs to an earlier connection
        """
        self.check_process()
        if message.references:
            self._check_own(message.references)
        exchange = Exchange(self, listener)
        number = 0
        sent: List[int] = []
        try:
            with self._calls_lock:
                if self._end is not None:
                    raise NotSent(self._ended_text(), "WORKER_LOST")
                self._next += 1
                number = self._next
                self._calls[number] = exchange
            self._send_message(frames.CALL, number, frames.call_prefix(call), message, sent)
        except BaseException as e:
            is_lost = isinstance(e, OSError) and not _is_of_signal(e)
            if sent and not is_lost:
                # a signal's exception: the response is to come
                raise
            with self._calls_lock:
                unsent = self._calls.pop(number, None) is not None
            if is_lost and number and not unsent and (sent or listener is not None):
                # the reading thread saw the end first, and has completed the call, as its listener knows
                return exchange
            if is_lost and not sent and not self._is_connected():
                raise NotSent(self._ended_text(), "WORKER_LOST") from e
            raise self._ended() if is_lost else e
        return exchange

    def _check_own(self, references: Sequence[Reference]) -> None:
        for reference in references:
            if reference.connection is not None and reference.connection is not self:
                raise WorkerLost(
                    "reference: expected one that this process got since it last connected to a gateway, found one "
                    "that ended with an earlier connection; ask its owner for another one",
                    "WORKER_LOST",
                )

    # Processes that are forked from this one

    def is_own(self) -> bool:
        """Returns whether this process created it, and not the process from which it was forked."""
        return self._pid == os.getpid()

    def check_process(self) -> None:
        """Raises in a process that was forked from the one that made it."""
        if self._pid != os.getpid():
            self.abandon()
            raise CallError(
                "worker %s: expected a call of the process that joined (pid %d), found one of its forked child "
                "(pid %d); join in the child with a name of its own, by rpc.init_rpc or waybill.connect, or use "
                "waybill.call"
                % (self.name, self._pid, os.getpid()),
                "CLOSED",
            )

    def abandon(self) -> None:
        """In a forked process: closes its copies of what belongs to its parent, without a word to the gateway."""
        if self._is_abandoned:
            return
        self._is_abandoned = True
        self.turns.over = True
        if self._end is None:
            # the gateway sees the end of the parent when no process has the socket any more
            self._socket.close()
            self.storages.abandon()

    def has_ended(self) -> bool:
        """Returns whether calls are no longer sent."""
        return self._end is not None

    def in_flight(self) -> int:
        """Number of calls of this process without an outcome."""
        with self._calls_lock:
            return sum(not exchange.done for exchange in self._calls.values())

    # Responses to calls of the gateway

    def respond(self, exchange: int, result: frames.Result, message: Message) -> None:
        """Sends the response to a request."""
        self._send_message(frames.RESULT, exchange, frames.result_prefix(result), message)

    def fail(self, exchange: int, code: int, kind: int, text: str, root: Optional[frames.Root] = None) -> None:
        """Sends the error of a request, with the failed call that caused it."""
        self._write([frames.failed(exchange, code, kind, text, root if self.welcome.get("roots") else None)])

    # References, regions, leaving

    def keep(self, value: Any) -> int:
        """Keeps an object for references to it, until the gateway forgets it or the connection ends."""
        number = next(self._numbers)
        self.objects[number] = value
        return number

    def kept(self, number: Any) -> Any:
        """The object that is kept under a number; None if there is none."""
        return self.objects.get(number)

    def drop(self, handle: int) -> None:
        """Tells the gateway that no object of this process refers to a reference any more. Never waits."""
        self._tell(frames.DROP, handle)

    def ask_to_leave(self) -> None:
        """Asks for no further requests: the gateway closes the connection when nothing here is used any more."""
        self._write([frames.frame(frames.LEAVE, 0)])

    def leave(self, timeout: float) -> None:
        """Has the gateway leave the home in the name of this process, and closes the connection."""
        if not self.is_own():
            return
        try:
            # the gateway may close last, when the memory of others is no longer this worker's
            self._is_leaving = True
            self.storages.parts.copy_all()
            self._write([frames.frame(frames.LEAVE, 0)])
            self._left.wait(timeout)
        except OSError:
            pass
        self.close()

    def buffer(self, size: int) -> memoryview:
        """Memory of so many bytes from which a storage is sent without a copy; see :func:`waybill.rpc.buffer`."""
        return self.storages.buffer(size, self._allocate)

    def close(self) -> None:
        """Closes the connection; calls in flight end with ``WORKER_LOST``."""
        if not self.is_own():
            return
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def read_message(
        self, body: memoryview, at: int, part: Optional[Callable[[int, int, memoryview], memoryview]] = None
    ) -> Message:
        """The message of a frame, over its bytes."""
        message = frames.read_message(body, at, self.storages.region, part or self.storages.part)
        if not message.references:
            return message
        return message._replace(references=[each._replace(connection=self) for each in message.references])

    def _is_connected(self) -> bool:
        """Returns whether this worker is in the home. Asks the system: the last frame may be unread."""
        try:
            hung_up = select.poll()
            hung_up.register(self._socket, select.POLLRDHUP)
            return self._end is None and not self._is_leaving and not hung_up.poll(0)
        except (OSError, ValueError):
            return False

    def _tell(self, kind: int, number: int) -> None:
        """Sends a number, at once or by the thread that is writing. Garbage collection calls this at any point."""
        if self._end is None and self._pid == os.getpid():
            self._releases.append((kind, number))
            self._flush()

    def _flush(self) -> None:
        while self._releases and self._write_lock.acquire(False):
            try:
                self._write_releases()
            except OSError:
                self._releases.clear()
            finally:
                self._write_lock.release()

    def _write_releases(self) -> None:
        told: Dict[int, List[int]] = {}
        for _ in range(_MAX_NUMBERS):
            try:
                kind, number = self._releases.popleft()
            except IndexError:
                break
            told.setdefault(kind, []).append(number)
        for kind, numbers in told.items():
            self._send([frames.numbers(kind, numbers)], [])

    # Writing

    def _send_message(
        self, kind: int, exchange: int, prefix: bytes, message: Message, sent: Optional[List[int]] = None
    ) -> None:
        storages = message.storages
        if not storages:
            self._write(frames.message_frame(kind, exchange, prefix, message, (), self.max_frame), sent)
            return
        places: List[frames.Where] = []
        try:
            frames.check_counts(message)
            inlined = 0
            for storage in storages:
                place = self.storages.place(storage, self._allocate, inlined)
                inlined += len(storage) if place == frames.INLINED else 0
                places.append(place)
            pieces = frames.message_frame(kind, exchange, prefix, message, places, self.max_frame)
        except BaseException:
            self.storages.withdraw(places)
            raise
        self._write(pieces, sent)

    def _allocate(self, size: int) -> Optional[parts.Place]:
        """Memory in a segment of the gateway for a storage; None if it gives none."""
        if self.turns.is_reader():
            # it can't wait for what it would have to read
            return None
        payload = encode_invocation(Invocation("gateway.part.allocate", (), {"size": size}))
        exchange = self.call(frames.Call(frames.NAMED_CALL, 0, 0, "", 0, 0), Message(payload))
        exchange.rest_until_done()
        found: List[parts.Place] = []
        try:
            exchange.read(partial(_note_place, found))
        except CallError:
            return None
        return found[0] if found else None

    def _write(self, pieces: List[Bytes], sent: Optional[List[int]] = None) -> None:
        self.check_process()
        with self._write_lock:
            self._send(pieces, [] if sent is None else sent)
        if self._releases:
            self._flush()

    def _send(self, pieces: List[Bytes], sent: List[int]) -> None:
        """Sends a frame whole or not at all: a signal's exception is raised when the rest of a begun frame is sent.

        :param sent: is given the numbers of the bytes that were sent at a time
        """
        total = sum(map(len, pieces))
        raised: Optional[BaseException] = None
        while sum(sent) < total:
            rest = _behind(pieces, sum(sent)) if sent else pieces[:_MAX_PIECES]
            try:
                # in one step, as in _need
                sent.extend(map(self._socket.sendmsg, (rest,)))
            except BaseException as e:
                if not sent or (isinstance(e, OSError) and not _is_of_signal(e)):
                    raise
                raised = e
        if raised is not None:
            raise raised

    # Reading, by the thread that has the right to

    def _next_frame(self) -> Tuple[int, int, memoryview, int]:
        """Kind, exchange and body of the next frame, and where it ends. It stays in the input until :meth:`_taken`."""
        content, at = self._input
        start = at + _HEAD_SIZE
        if len(content) < start:
            self._need(start)
        length, kind, _, _, exchange = frames.HEAD.unpack_from(content, at)
        if length > frames.MAX_FRAME:
            raise ProtocolError("frame: expected a body of at most %d bytes, found %d" % (frames.MAX_FRAME, length))
        end = start + length
        if len(content) < end:
            self._need(end)
        return kind, exchange, memoryview(content[start:end]), end

    def _taken(self, end: int) -> None:
        """Removes the frame that ends there."""
        content, _ = self._input
        if end >= len(content):
            self._input = (bytearray(), 0)
        else:
            self._input = (content, end) if end < _CHUNK else (content[end:], 0)

    def _has_more(self) -> bool:
        """Returns whether bytes after the last frame have been received."""
        return len(self._input[0]) > self._input[1]

    def _need(self, end: int) -> None:
        content = self._input[0]
        while len(content) < end:
            before = len(content)
            size = min(max(end - before, _CHUNK), _MAX_CHUNK)
            # receiving at once would also be woken when the gateway has read what was sent
            self._arrival.poll()
            # in one step: a signal's exception between two would lose what was received
            reduce(operator.iadd, map(self._socket.recv, (size,)), content)
            if len(content) == before:
                raise ConnectionResetError("the gateway closed the connection")

    def _read(self, may_run: bool) -> bool:
        """Reads a frame and does what it says; returns whether it was the outcome that a thread waits for.

        :param may_run: whether this thread may run a request
        """
        try:
            kind, exchange, body, end = self._next_frame()
            if kind == frames.RESULT:
                return self._complete(exchange, end, body, None)
            if kind == frames.FAILED and exchange:
                return self._complete(exchange, end, None, call_error(*frames.read_failed(body)))
            self._taken(end)
            if kind == frames.CALL:
                call, at = frames.read_call(body)
                run = self.turns.run if may_run and not self._has_more() else self._executor.submit
                self.requests[exchange] = False
                self._listener.on_call(Incoming(exchange, call, body, at, self), run)
            else:
                self._act(kind, exchange, body)
        except Exception as e:
            if _is_of_signal(e):
                # what was received is in the input, or has been acted on
                raise
            if not isinstance(e, (OSError, CallError)):
                self._refuse(e)
            self._finish(e)
        return False

    def _act(self, kind: int, exchange: int, body: memoryview) -> None:
        if kind == frames.RELEASE:
            self.storages.released(frames.read_numbers(body))
        elif kind == frames.FORGET:
            self._listener.on_forget([self.objects.pop(number, None) for number in frames.read_numbers(body)])
        elif kind == frames.CANCEL:
            if exchange in self.requests:
                self.requests[exchange] = True
        elif kind == frames.LEAVE:
            raise ConnectionResetError("this worker left the home")
        elif kind == frames.FAILED:
            raise call_error(*frames.read_failed(body))
        else:
            raise ProtocolError("frame: expected a kind that a gateway sends, found %d" % kind)

    def _complete(self, number: int, end: int, body: Optional[memoryview], error: Optional[BaseException]) -> bool:
        exchange = self._calls.get(number)
        if exchange is None:
            raise ProtocolError("RESULT or FAILED: expected a call in flight, found exchange %d" % number)
        # in an order in which any of these steps may be the last one, and be repeated
        exchange.complete(body, error)
        self._taken(end)
        with self._calls_lock:
            self._calls.pop(number, None)
        return exchange.listener is None

    def _refuse(self, error: Exception) -> None:
        """Tells the gateway which rule it broke."""
        print("waybill: connection closed: %s" % error, file=sys.stderr)
        try:
            self._write([frames.failed(0, 1, 0, str(error))])
        except OSError:
            pass

    def _finish(self, error: BaseException) -> None:
        with self._calls_lock:
            self._end = error
            calls = list(self._calls.values())
            self._calls.clear()
        self._releases.clear()
        self._socket.close()
        self._left.set()
        for exchange in calls:
            exchange.complete(None, self._ended())
        self.turns.end()
        self.storages.close()
        objects = list(self.objects.values())
        self.objects.clear()
        if objects:
            self._listener.on_forget(objects)
            del objects
        self._listener.on_lost(self, error)

    def _ended(self) -> WorkerLost:
        return WorkerLost(self._ended_text(), "WORKER_LOST")

    def _ended_text(self) -> str:
        return "connection to the gateway ended: %s" % (self._end or "the socket is closed")


def _note_place(found: List[parts.Place], number: int, size: int, place: memoryview) -> memoryview:
    found.append(parts.place_of(number, size, place))
    return memoryview(b"")


def _is_of_signal(error: BaseException) -> bool:
    """Returns whether a signal handler raised it: it runs on the main thread, in the innermost frame."""
    at = error.__traceback__
    if at is None or threading.current_thread() is not threading.main_thread():
        return False
    while at.tb_next is not None:
        at = at.tb_next
    return at.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in _OWN_MODULES


def _behind(pieces: List[Bytes], count: int) -> List[Bytes]:
    """Returns the rest of a frame after the sent bytes, as far as one step sends it."""
    first = 0
    while count >= len(pieces[first]):
        count -= len(pieces[first])
        first += 1
    rest = pieces[first : first + _MAX_PIECES]
    rest[0] = memoryview(rest[0])[count:]
    return rest


def process_names() -> str:
    """Version of the interpreter and of this package, for operators."""
    from waybill import __version__

    return "Python %d.%d.%d, waybill %s" % (sys.version_info[0], sys.version_info[1], sys.version_info[2], __version__)


def _abandon_all() -> None:
    for connection in list(_open):
        connection.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
