"""A Python process as a worker of a home: its calls, the requests that it serves, and objects behind references."""

import os
import sys
import threading
import time
import traceback
import weakref
from functools import partial
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

from waybill import frames, pickling, profiling, python_calls
from waybill.connection import Connection, Exchange, Incoming, Listener, Outcome, process_names
from waybill.errors import NUMBERS, CallError, CodeRefused, FunctionNotFound, MalformedError, NotSent, root_of
from waybill.executor import Executor, NoThread
from waybill.frames import Message, Reference
from waybill.futures import Future
from waybill.libraries import loaded
from waybill.native_values import Place, references_of, resolve
from waybill.python_calls import RemoteException
from waybill.reconnection import Connections, Deferred
from waybill.roster import Listed, Membership, Roster, WorkerInfo
from waybill.values import Invocation, ReferenceIndex, decode_invocation, decode_value, encode_invocation, encode_value

T = TypeVar("T")
DEFAULT_THREADS = 16
_LEAVE_SECONDS = 10.0
# how long what has no timeout of its own waits for a connection
_CONNECTION_NS = 60 * 10**9
# of a record of the home, without its head
_MAX_PAYLOAD = (8 << 20) - 104
_current = threading.local()


class Handle:
    """A reference that the gateway holds for this process, until this object is gone or the connection ends."""

    __slots__ = ("connection", "number", "_finalizer", "__weakref__")

    def __init__(self, connection: Connection, number: int) -> None:
        self.connection = connection
        self.number = number
        self._finalizer = weakref.finalize(self, connection.drop, number)
        self._finalizer.atexit = False


class Worker(Listener):
    """A connected process. Serves calls of Python functions, and calls by name that ``find_operation`` knows.

    A client whose connection ends connects again, under its name and its id; a pool process does not.
    """

    def __init__(
        self,
        path: str,
        hello: Dict[str, Any],
        threads: int = DEFAULT_THREADS,
        paths: Callable[[], Sequence[str]] = tuple,
        membership: Optional[Membership] = None,
    ) -> None:
        """Connects.

        :param paths: of further sockets at which a gateway of the home may be when the one at ``path`` has ended
        :param membership: in a group, whose ranks are the ids that the program sees
        """
        self.executor = Executor(threads)
        self.operations: Dict[str, Callable[..., Any]] = {}
        self.find_operation: Callable[[str], Optional[Callable[..., Any]]] = self.operations.get
        self.on_lost_callback: Optional[Callable[[BaseException], None]] = None
        self.serving = 0
        # ns between the end of reading a request and the begin of its run, of the last ones; None: not measured
        self.waits: Optional[Deque[int]] = None
        self._hello = dict(hello, version=process_names())
        if membership is not None:
            self._hello["member"] = membership.fields()
        first = self._connect(path)
        welcome = first.welcome
        # it stays the same worker
        self._hello.update(id=int(welcome["worker"]), name=str(welcome["name"]))
        self._hello.pop("numbered", None)
        self._connections = Connections(first, self._connect if hello["role"] == "client" else None, paths)
        self.roster = Roster(str(welcome["name"]), int(welcome["worker"]), membership)
        self.info = self.roster.own.info
        self.home = str(welcome.get("home", ""))
        self._by_value = bool(welcome.get("by_value", False))
        self._unpack = partial(pickling.unpack, by_value=self._by_value)

    def _connect(self, path: str, is_wanted: Callable[[], bool] = lambda: True) -> Connection:
        return Connection(path, self._hello, self, self.executor, is_wanted)

    @property
    def connection(self) -> Connection:
        """The present connection; it may have ended."""
        return self._connections.present

    @property
    def objects(self) -> Dict[int, "Future[Any]"]:
        """Objects of the present connection's references, by number."""
        return self.connection.objects

    def start(self) -> None:
        """Begins to serve."""
        self.connection.start()

    def responding(self) -> Callable[[], bool]:
        """Returns whether a request has no response yet, except the one that the calling thread serves."""
        connection = self.connection
        serving: Optional[Incoming] = getattr(_current, "incoming", None)
        own = serving.exchange if serving is not None and serving.connection is connection else 0
        present = set(list(connection.requests)) - {own}
        return lambda: not (connection.has_ended() or present.isdisjoint(list(connection.requests)))

    def leave(self, timeout: float = _LEAVE_SECONDS) -> None:
        """Leaves the home; calls in flight end with ``WORKER_LOST``. Ends at once when there is no connection."""
        if not self.connection.is_own():
            # a forked process: the member is its parent
            return
        self._connections.close()
        self.connection.leave(timeout)
        self.executor.close()

    # Calls

    def call_python(
        self,
        to: str,
        function: Any,
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        timeout_ns: int,
        create: bool = False,
        listener: Optional[Callable[[Exchange], None]] = None,
        profile: Any = None,
    ) -> Exchange:
        """Sends the call of a Python function."""
        is_async = hasattr(function, "_wrapped_async_rpc_function")
        packed = pickling.pack((function, args, kwargs))
        autograd = _autograd()
        context = None if autograd is None else autograd.current_id()
        field = None
        if autograd is not None and context is not None:
            field = autograd.sent(packed.table.gradients, self.home_id_of(to), context, True)
        message = python_calls.encode_call(function, args, kwargs, is_async, packed, field, profile)
        return self.send(frames.PYTHON_CALL, to, message, timeout_ns, frames.CREATE if create else 0, listener)

    def send(
        self,
        kind: int,
        to: str,
        message: Message,
        timeout_ns: int,
        flags: int = 0,
        listener: Optional[Callable[[Exchange], None]] = None,
        wait_ns: Optional[int] = None,
    ) -> Exchange:
        """Sends a request of any type. While there is no connection it waits for one, within the timeout.

        :param listener: gets the outcome; then the call waits for a connection, and not this thread
        :param wait_ns: how long to wait, in the place of the timeout
        """

        def attempt(connection: Connection, left_ns: int, content: Message = message) -> Exchange:
            serving: Optional[Incoming] = getattr(_current, "incoming", None)
            parent = serving.exchange if serving is not None and serving.connection is connection else 0
            return connection.call(frames.Call(kind, flags, 0, to, parent, left_ns), content, listener)

        if listener is None:
            return self._with_connection(attempt, timeout_ns, wait_ns, message.references)
        connection = self.connection
        try:
            return attempt(connection, timeout_ns)
        except NotSent as e:
            if message.references:
                # they have ended, too
                raise
            ended = e
        # the program may write to its tensors when this has returned
        kept = message._replace(storages=[memoryview(bytearray(each)) for each in message.storages])
        unsent = Exchange(connection, listener)
        limit_ns = timeout_ns if wait_ns is None else wait_ns
        deferred = Deferred(
            lambda following, left_ns: attempt(following, left_ns, kept),
            lambda error: unsent.complete(None, error),
            timeout_ns,
            limit_ns,
        )
        self._connections.later(ended, connection, deferred)
        return unsent

    def _with_connection(
        self,
        attempt: Callable[[Connection, int], T],
        timeout_ns: int = 0,
        wait_ns: Optional[int] = _CONNECTION_NS,
        references: Sequence[Reference] = (),
    ) -> T:
        """Does something with the present connection, or with one that follows if it had ended before."""
        connection = self.connection
        try:
            return attempt(connection, timeout_ns)
        except NotSent as e:
            if references:
                # they have ended, too
                raise
            ended = e
        limit_ns = timeout_ns if wait_ns is None else wait_ns
        end = time.monotonic() + limit_ns / 1e9 if limit_ns else None
        counted = self.executor.before_wait()
        try:
            while True:
                connection = self._connections.following(ended, connection, limit_ns, end)
                left_ns = timeout_ns
                if timeout_ns and end is not None:
                    left_ns = max(1, min(timeout_ns, int((end - time.monotonic()) * 1e9)))
                try:
                    return attempt(connection, left_ns)
                except NotSent as e:
                    ended = e
        finally:
            if counted:
                self.executor.after_wait()

    def call_named(self, to: str, name: str, positional: Sequence[Any], named: Dict[str, Any], timeout_ns: int) -> Any:
        """Calls an operation by name and returns its value."""
        kind = frames.SCRIPT_CALL if "::" in name else frames.NAMED_CALL
        place = Place()
        payload = encode_invocation(Invocation(name, tuple(positional), named), place)
        if len(payload) > _MAX_PAYLOAD:
            raise ValueError(
                "call of %s: expected values of at most %d bytes without arrays, found %d; send a long str or bytes as "
                "an array of uint8" % (name, _MAX_PAYLOAD, len(payload))
            )
        exchange = self.send(kind, to, place.message(payload), timeout_ns)
        return self.value_of(self.wait(exchange).message)

    def gateway(
        self,
        operation: str,
        fields: Dict[str, Any],
        handle: Optional[Handle] = None,
        timeout_ns: int = 0,
        listener: Optional[Callable[[Exchange], None]] = None,
    ) -> Exchange:
        """Calls an operation of the gateway itself."""
        references: List[Reference] = []
        if handle is not None:
            fields = dict(fields, reference=ReferenceIndex(0))
            references.append(Reference(handle.number, connection=handle.connection))
        payload = encode_invocation(Invocation(operation, (), fields))
        message = Message(payload, references=references)
        return self.send(frames.NAMED_CALL, "", message, timeout_ns, 0, listener, timeout_ns or _CONNECTION_NS)

    def ask_gateway(
        self, operation: str, fields: Dict[str, Any], handle: Optional[Handle] = None, timeout_ns: int = 0
    ) -> Any:
        """Calls an operation of the gateway and returns its value."""
        return self.value_of(self.wait(self.gateway(operation, fields, handle, timeout_ns)).message)

    def wait(self, exchange: Exchange) -> Outcome:
        """Waits for a response; other requests may take this thread's place meanwhile."""
        counted = self.executor.before_wait()
        try:
            return exchange.wait()
        finally:
            if counted:
                self.executor.after_wait()

    def result_of(self, outcome: Outcome) -> Any:
        """The value of a Python function's response, or a :class:`RemoteException`."""
        if outcome.result.type in (frames.PYTHON_RET, frames.PYTHON_RREF_FETCH_RET):
            return python_calls.decode_result(outcome.message, self._unpack)[0]
        return self.value_of(outcome.message)

    def value_of(self, message: Message) -> Any:
        """The value of a response to a call by name, with tensors and references as objects."""
        if not message.payload:
            return None
        references = references_of(message)
        return resolve(decode_value(message.payload), message, references)

    def workers(self) -> List[Listed]:
        """The live workers of the home, this one first."""
        return self.roster.update(self.ask_gateway("gateway.workers", {})["workers"])

    def info_of(self, home_id: int) -> WorkerInfo:
        """A worker by its id in the home; it may have left."""
        found = self.roster.of_home(home_id)
        if found is None:
            self.workers()
            found = self.roster.of_home(home_id)
        return found or self.roster.unknown(home_id)

    def home_id_of(self, name: str) -> int:
        """The id in the home of a worker; -1 where none has the name."""
        found = self.roster.home_id(name)
        if found is None:
            self.workers()
            found = self.roster.home_id(name)
        return -1 if found is None else found

    # Objects that references name

    def share(self, value: "Future[Any]") -> Handle:
        """Makes a reference to an object of this process, which is kept for it."""

        def attempt(connection: Connection, _: int) -> Exchange:
            fields = {"object": connection.keep(value)}
            payload = encode_invocation(Invocation("gateway.reference.make", (), fields))
            return connection.call(frames.Call(frames.NAMED_CALL, 0, 0, "", 0, 0), Message(payload))

        return self.handle(self.wait(self._with_connection(attempt)).message.references[0])

    def handle(self, reference: Reference) -> Handle:
        """An object that drops a received reference when it is gone."""
        return Handle(reference.connection or self.connection, reference.handle)

    def buffer(self, size: int) -> memoryview:
        """Memory of so many bytes from which a storage is sent without a copy; see :func:`waybill.rpc.buffer`."""
        return self._with_connection(lambda connection, _: connection.buffer(size))

    # What arrives, on the thread that reads

    def on_call(self, incoming: Incoming, run: Callable[..., None]) -> None:
        try:
            if self.waits is None:
                run(self._serve, incoming)
            else:
                run(self._serve_measured, incoming, time.monotonic_ns())
        except NoThread as e:
            self._fail(incoming, "REFUSED", "the request was not run: %s" % e)

    def on_forget(self, objects: List[Any]) -> None:
        # the objects' own finalizers may be user code
        self.executor.submit_or_run(_drop, objects)

    def on_lost(self, connection: Connection, error: BaseException) -> None:
        if self.on_lost_callback is not None:
            self.on_lost_callback(error)
        if not self._connections.lost(connection, error):
            self.executor.close()

    # Serving, on a thread of the executor

    def _serve_measured(self, incoming: Incoming, read_ns: int) -> None:
        waits = self.waits
        if waits is not None:
            waits.append(time.monotonic_ns() - read_ns)
        self._serve(incoming)

    def _serve(self, incoming: Incoming) -> None:
        connection = incoming.connection
        if connection.has_ended():
            # it was not begun, and its caller has its outcome
            return
        outer = getattr(_current, "incoming", None)
        _current.incoming = incoming
        try:
            # also if the caller waits no more: what it holds is released with its views
            message = connection.read_message(incoming.body, incoming.at)
            if connection.requests.get(incoming.exchange):
                self._fail(incoming, "TIMED_OUT", "the caller waits no more")
                return
            kind = incoming.call.type
            if kind in (frames.PYTHON_CALL, frames.PYTHON_REMOTE_CALL):
                self._serve_python(incoming, message)
            elif kind == frames.PYTHON_RREF_FETCH_CALL:
                self._serve_fetch(incoming, message)
            elif kind == frames.NAMED_CALL:
                self._serve_named(incoming, message)
            else:
                self._fail(incoming, "UNKNOWN_TYPE", "type 0x%x: expected one that Python processes serve" % kind)
        except MalformedError as e:
            self._fail(incoming, "MALFORMED_BODY", str(e))
        except CodeRefused as e:
            self._fail(incoming, "REFUSED", str(e))
        except BaseException as e:
            if connection.is_own():
                self._fail(incoming, "HANDLER_FAILED", "%s: %s" % (type(e).__name__, e), root_of(e))
        finally:
            _current.incoming = outer

    def _serve_python(self, incoming: Incoming, message: Message) -> None:
        create = bool(incoming.call.flags & frames.CREATE)
        try:
            call = python_calls.decode_call(message, self._unpack, self._by_value)
        except (AttributeError, ImportError) as e:
            error = python_calls.remote_exception(FunctionNotFound(str(e) + pickling.UNKNOWN_FUNCTION), self.info)
            python_calls.report(error)
            profile = profiling.served(python_calls.profile_of(message))
            self._complete(_Served(incoming, create, None, None, profile, False), error)
            return
        del message
        kept: Optional["Future[Any]"] = Future() if create and call.is_async else None
        if kept is not None:
            # references to the object may be used before its function's future is completed
            self._respond_kept(incoming, kept)
        context = None if call.autograd is None else call.autograd[0]
        served = _Served(incoming, create, kept, context, profiling.served(call.profile), call.plain)
        try:
            run = partial(_run_in_context, context, call)
            value = run() if served.profile is None else served.profile.run(run)
            if call.is_async and not (hasattr(value, "add_done_callback") and hasattr(value, "wait")):
                found = type(value)
                raise RuntimeError(
                    "Functions decorated with @rpc.async_function must return a torch.futures.Future object, but got "
                    "%s.%s." % (found.__module__, found.__qualname__)
                )
        except BaseException as e:
            if not incoming.connection.is_own():
                _end_child(e)
            error = python_calls.remote_exception(e, self.info)
            python_calls.report(error)
            self._complete(served._replace(context=None), error)
            return
        if not incoming.connection.is_own():
            _end_child(None)
        if call.is_async:
            del call, run
            value.add_done_callback(lambda done: self._complete_from(served, done))
        else:
            self._complete(served, value)

    def _complete_from(self, served: "_Served", done: Any) -> None:
        try:
            value = done.value()
        except BaseException as e:
            value = python_calls.remote_exception(e, self.info)
        self._complete(served, value)

    def _complete(self, served: "_Served", value: Any) -> None:
        events = None if served.profile is None else served.profile.events()
        if served.kept is not None:
            _set(served.kept, value)
        elif served.create:
            held: "Future[Any]" = Future()
            _set(held, value)
            self._respond_kept(served.incoming, held)
        elif served.plain:
            self._respond(served.incoming, frames.PYTHON_RET, value, python_calls.encode_plain)
        else:
            encode = partial(self._encode, served.incoming, served.context, events)
            self._respond(served.incoming, frames.PYTHON_RET, value, encode)

    def _respond_kept(self, incoming: Incoming, held: "Future[Any]") -> None:
        connection = incoming.connection
        connection.requests.pop(incoming.exchange, None)
        result = frames.Result(frames.REMOTE_RET, frames.KEPT, 0, connection.keep(held))
        connection.respond(incoming.exchange, result, Message())

    def _encode(self, incoming: Incoming, context: Optional[int], events: Any, value: Any) -> Message:
        packed = pickling.pack(value)
        autograd = None if context is None else _autograd()
        field = autograd and autograd.sent(packed.table.gradients, incoming.call.sender, context, False)
        return python_calls.encode_result(value, packed, field or None, events)

    def _respond(self, incoming: Incoming, kind: int, value: Any, encode: Callable[[Any], Message]) -> None:
        connection = incoming.connection
        if not isinstance(value, RemoteException):
            try:
                message = encode(value)
            except Exception as e:
                value = python_calls.remote_exception(e, self.info)
                python_calls.report(value)
        if isinstance(value, RemoteException):
            message = python_calls.encode_error(value)
        try:
            connection.respond(incoming.exchange, frames.Result(kind, 0, 0, 0), message)
        except ValueError as e:
            connection.fail(incoming.exchange, NUMBERS["TOO_LARGE"], 0, str(e))
        except OSError:
            # the connection is gone, and with it the call
            pass
        finally:
            # a member that leaves waits for this
            connection.requests.pop(incoming.exchange, None)

    def _serve_fetch(self, incoming: Incoming, message: Message) -> None:
        fields = decode_value(message.payload)
        number = fields.get("object") if isinstance(fields, dict) else None
        held = incoming.connection.kept(number) if isinstance(number, int) else None
        if held is None:
            self._fail(
                incoming, "REFERENCE_DELETED", "reference: expected an object of this process, found number %s" % number
            )
        else:
            held.add_done_callback(
                lambda done: self._respond(
                    incoming, frames.PYTHON_RREF_FETCH_RET, _held(done), partial(self._encode, incoming, None, None)
                )
            )

    def _serve_named(self, incoming: Incoming, message: Message) -> None:
        call = decode_invocation(message.payload)
        function = self.find_operation(call.name)
        if function is None:
            self._fail(incoming, "UNKNOWN_OPERATION", "operation %s: expected one that this process serves" % call.name)
            return
        references = references_of(message)
        positional = [resolve(value, message, references) for value in call.positional]
        named = {key: resolve(value, message, references) for key, value in call.named.items()}
        try:
            value = function(*positional, **named)
        except BaseException as e:
            if not incoming.connection.is_own():
                _end_child(e)
            if not isinstance(e, Exception):
                raise
            code = "REFUSED" if isinstance(e, CallError) else "HANDLER_FAILED"
            self._fail(incoming, code, "%s: %s" % (type(e).__name__, e), root_of(e))
            return
        if not incoming.connection.is_own():
            _end_child(None)
        incoming.connection.requests.pop(incoming.exchange, None)
        place = Place()
        payload = encode_value(value, place)
        incoming.connection.respond(incoming.exchange, frames.Result(frames.NAMED_RET, 0, 0, 0), place.message(payload))

    def _fail(self, incoming: Incoming, code: str, text: str, root: Optional[frames.Root] = None) -> None:
        incoming.connection.requests.pop(incoming.exchange, None)
        try:
            incoming.connection.fail(incoming.exchange, NUMBERS[code], 0, text, root)
        except OSError:
            # the connection is gone, and with it the call
            pass


class _Served(NamedTuple):
    """A call of a Python function whose value is to be kept or sent."""

    incoming: Incoming
    create: bool
    kept: Optional["Future[Any]"]
    context: Optional[int]
    profile: Optional[profiling.Served]
    plain: bool


def _set(future: "Future[Any]", value: Any) -> None:
    if isinstance(value, RemoteException):
        future.set_exception(KeptError(value))
    else:
        future.set_result(value)


def _held(done: "Future[Any]") -> Any:
    try:
        return done.value()
    except KeptError as e:
        return e.remote


class KeptError(Exception):
    """In the place of an object: the error of the function that was to make it."""

    def __init__(self, remote: RemoteException) -> None:
        super().__init__(remote.msg)
        self.remote = remote


def _autograd() -> Any:
    """Distributed autograd, in a program that uses it."""
    return loaded("waybill.autograd")


def _run_in_context(context: Optional[int], call: python_calls.PythonCall) -> Any:
    """Calls the function inside the caller's context of distributed autograd."""
    if context is None:
        return call.function(*call.args, **call.kwargs)
    from waybill import autograd

    outer = autograd.enter(context)
    try:
        return call.function(*call.args, **call.kwargs)
    finally:
        autograd.leave(outer)


def _end_child(error: Optional[BaseException]) -> None:
    """Ends a process that a function forked and whose copy of the function has returned: the caller is its parent's."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        traceback.print_exception(type(error), error, error.__traceback__)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            # it is closed, or there is none
            pass
    os._exit(code)


def _drop(objects: List[Any]) -> None:
    objects.clear()

