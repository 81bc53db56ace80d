"""Remote references: values that stay with the worker that made them."""

import functools
import threading
import time
from typing import Any, Callable, Generic, List, NamedTuple, Optional, TypeVar

from waybill import pickling, python_calls, timeouts
from waybill.connection import Exchange
from waybill.errors import CallTimeout, timeout_text
from waybill.frames import Reference
from waybill.futures import Future
from waybill.libraries import loaded
from waybill.python_calls import RemoteException
from waybill.rpc import constants, internal, state
from waybill.rpc.internal import RPCExecMode
from waybill.roster import WorkerInfo
from waybill.worker import Handle, KeptError, Worker

T = TypeVar("T")
_CREATION_TIMED_OUT = (
    "RRef creation via rpc.remote() timed out, and it is possible that the RRef on the owner node does not exist."
)


class GloballyUniqueId(NamedTuple):
    """Id of a reference or of a fork: a worker, and a number that it gave."""

    created_on: int
    local_id: int

    def __repr__(self) -> str:
        return "GloballyUniqueId(created_on=%d, local_id=%d)" % (self.created_on, self.local_id)


class RRef(Generic[T]):
    """A reference to a value of some type on another worker, or on this one.

    It can be an argument or a part of a result of any call. The value exists as long as a reference to it does.
    """

    def __init__(self, value: T, type_hint: Any = None) -> None:
        self._init(state.current_agent().worker)
        self._value: "Optional[Future[Any]]" = Future()
        self._value.set_result(value)
        self._owner = self._worker.info
        self._owner_id = self._worker.roster.own.home_id

    def _init(self, worker: Worker) -> None:
        self._worker = worker
        self._owner_id = -1
        self._lock = threading.RLock()
        self._handle: Optional[Handle] = None
        self._value = None
        self._created: Any = None
        self._creation: Optional[Exchange] = None
        self._profiling: Any = None
        self._type_future: Any = None
        self._confirmed = False

    @classmethod
    def _received(cls, worker: Worker, reference: Reference) -> "RRef[Any]":
        rref: "RRef[Any]" = cls.__new__(cls)
        rref._init(worker)
        rref._handle = worker.handle(reference)
        rref._confirmed = reference.confirmed
        rref._owner_id = reference.owner
        rref._owner = worker.info if reference.is_owner else worker.info_of(reference.owner)
        return rref

    # Who and where

    def owner(self) -> WorkerInfo:
        """The worker that has the value."""
        return self._owner

    def owner_name(self) -> str:
        """The name of the worker that has the value."""
        return self._owner.name

    def is_owner(self) -> bool:
        """Returns whether the value is on this worker."""
        return self._owner_id == self._worker.roster.own.home_id

    def confirmed_by_owner(self) -> bool:
        """Returns whether the owner knows this reference."""
        if not self._confirmed and self._handle is not None:
            self._confirmed = bool(self._info().get("confirmed"))
        return self._confirmed or self.is_owner()

    def _info(self) -> Any:
        return self._worker.ask_gateway("gateway.reference.info", {}, self._shared())

    # The value

    def local_value(self) -> T:
        """The value, on its owner. Waits until it was made; raises the error of the function that was to make it."""
        if not self.is_owner():
            raise RuntimeError(
                "For %s, can't call localValue() on user %s. Call it on owner %s"
                % (self._ids(), self._worker.info, self._owner)
            )
        counted = self._worker.executor.before_wait()
        try:
            return self._local().wait()  # type: ignore[no-any-return]
        except KeptError as e:
            python_calls.raise_remote(e.remote)
        finally:
            if counted:
                self._worker.executor.after_wait()

    def _local(self) -> "Future[Any]":
        """On the owner: the future of the value."""
        with self._lock:
            if self._value is None:
                handle = self._shared()
                number = self._worker.ask_gateway("gateway.reference.local", {}, handle)["object"]
                found = handle.connection.kept(number)
                if found is None:
                    raise RuntimeError("%s: expected its value on this worker, found none" % self)
                self._value = found
            return self._value

    def to_here(self, timeout: Optional[float] = constants.UNSET_RPC_TIMEOUT) -> T:
        """A copy of the value, or the value itself on its owner.

        :param timeout: in seconds; 0 and None mean none, -1 the default
        """
        timeouts.to_ns(timeout)
        if self.is_owner():
            return self.local_value()
        self._check_usable("to_here() on it")
        agent = state.current_agent()
        autograd = loaded("waybill.autograd")
        if autograd is not None and autograd.current_id() is not None:
            # the owner records the fetch in the context
            return agent.call_sync(self._owner, _value_at_owner, (self,), {}, timeout)  # type: ignore[no-any-return]
        exchange = self._worker.gateway("gateway.reference.fetch", {}, self._shared(), agent.timeout_ns(timeout))
        value = self._worker.result_of(self._worker.wait(exchange))
        if isinstance(value, RemoteException):
            python_calls.raise_remote(value)
        return value  # type: ignore[no-any-return]

    def _check_usable(self, use: str) -> None:
        self._worker.connection.check_process()
        if not state.is_current(self._worker):
            raise RuntimeError("%s has been deleted. Cannot call %s after deletion." % (self, use))
        if self._created is not None and self._created.done():
            try:
                self._created.value()
            except CallTimeout:
                raise RuntimeError(_CREATION_TIMED_OUT) from None
            except Exception:
                # every use raises the error itself
                pass

    # Sharing

    def _shared(self) -> Handle:
        """The gateway's handle of this reference; made when it is first needed, and again on another connection."""
        with self._lock:
            if self._handle is None or (self._value is not None and self._handle.connection.has_ended()):
                assert self._value is not None
                self._handle = self._worker.share(self._value)
                self._confirmed = True
            return self._handle

    def _wire_reference(self) -> Reference:
        self._check_usable("fork an UserRRef")
        handle = self._shared()
        return Reference(handle.number, self._owner_id, 0, handle.connection)

    def _serialize(self) -> Any:
        self._check_usable("fork an UserRRef")
        return pickling.send_reference(self._wire_reference())

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("Can not pickle rref in python pickler, rref can only be pickled when using RPC")

    # Methods of the value

    def rpc_sync(self, timeout: Optional[float] = constants.UNSET_RPC_TIMEOUT) -> Any:
        """An object whose methods call those of the value, and wait."""
        return _Proxy(self, "sync", timeout)

    def rpc_async(self, timeout: Optional[float] = constants.UNSET_RPC_TIMEOUT) -> Any:
        """An object whose methods call those of the value, and return futures."""
        return _Proxy(self, "async", timeout)

    def remote(self, timeout: Optional[float] = constants.UNSET_RPC_TIMEOUT) -> Any:
        """An object whose methods call those of the value, and return references to what they return."""
        return _Proxy(self, "remote", timeout)

    def _get_type(self, timeout: Optional[float] = constants.UNSET_RPC_TIMEOUT, blocking: bool = True) -> Any:
        """The type of the value, or a future of it; asked for once."""
        if self._type_future is None:
            if self.is_owner():
                self._type_future = state.completed_future(type(self.local_value()))
            else:
                function = _rref_typeof_on_owner
                profile = internal.profile_of(RPCExecMode.ASYNC, self._owner, function)
                self._type_future = state.current_agent().call_async(
                    self._owner, function, (self,), {}, timeout, profile
                )
        return self._type_future.wait() if blocking else self._type_future

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False) -> None:
        """Runs backward from the value, on its owner; in a context of distributed autograd if an id is given."""
        if self.is_owner():
            _backward(self, dist_autograd_ctx_id, retain_graph)
            return
        if dist_autograd_ctx_id == -1:
            raise RuntimeError("User RRefs require 'dist_autograd_ctx_id' to be specified")
        state.current_agent().call_sync(self._owner, _backward, (self, dist_autograd_ctx_id, retain_graph), {})

    # Creation and profiling

    def _get_future(self) -> Any:
        """A future that completes when the owner has the value."""
        if self._created is None:
            if self.is_owner():
                self._created = state.completed_future(None)
            else:
                self._watch()
        return self._created

    def _watch(self, timeout_ns: int = 0, began: int = 0) -> None:
        """Begins to wait for the end of the creation, which began at a time of the monotonic clock."""
        created = self._created = state.new_future()
        executor = self._worker.executor

        def finish(exchange: Exchange) -> None:
            try:
                exchange.outcome()
                if timeout_ns and time.monotonic_ns() - began >= timeout_ns:
                    # the owner has kept that the call ran out of time, and confirms this
                    raise CallTimeout(timeout_text(timeouts.in_ms(timeout_ns)), "TIMED_OUT")
            except Exception as e:
                created.set_exception(e)
            else:
                created.set_result(None)

        self._worker.gateway(
            "gateway.reference.wait", {}, self._shared(), timeout_ns, lambda x: executor.submit_or_run(finish, x)
        )

    def _get_profiling_future(self) -> Any:
        return self._profiling

    def _set_profiling_future(self, future: Any) -> None:
        self._profiling = future

    # Text

    def _ids(self) -> str:
        rref, fork = self._read_ids()
        return "UserRRef(rref_id=%s, fork_id=%s)" % (rref, fork)

    def _read_ids(self) -> List[GloballyUniqueId]:
        info = self._info()
        number = self._shared().number
        found = [info.get(key, (self._owner_id, number)) for key in ("rref_id", "fork_id")]
        return [GloballyUniqueId(self._worker.info_of(int(pair[0])).id, int(pair[1])) for pair in found]

    def __repr__(self) -> str:
        if not state.is_current(self._worker):
            return "RRef(owner = %s)" % (self._owner,)
        rref, fork = self._read_ids()
        return "OwnerRRef(%s)" % (rref,) if self.is_owner() else "UserRRef(RRefId = %s, ForkId = %s)" % (rref, fork)

    __str__ = __repr__


class _Proxy:
    """Calls methods of a reference's value."""

    def __init__(self, rref: "RRef[Any]", mode: str, timeout: Optional[float]) -> None:
        self._rref = rref
        self._mode = mode
        timeouts.to_ns(timeout)
        self._timeout = timeout

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(self._invoke, name)

    def _invoke(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        agent = state.current_agent()
        owner = self._rref.owner()
        if self._mode == "remote":
            method = getattr(self._rref._get_type(self._timeout), name)
            is_async = hasattr(method, "_wrapped_async_rpc_function")
            invoke = _invoke_method if is_async else _invoke_and_wait
            return agent.create(owner, invoke, (self._rref, name, args, kwargs), {}, self._timeout)
        call = agent.call_sync if self._mode == "sync" else agent.call_async
        return call(owner, _invoke_method, (self._rref, name, args, kwargs), {}, self._timeout)


def _rref_typeof_on_owner(rref: "RRef[Any]") -> type:
    return type(rref.local_value())


def _value_at_owner(rref: "RRef[Any]") -> Any:
    return rref.local_value()


def _invoke_method(rref: "RRef[Any]", name: str, args: Any, kwargs: Any) -> Any:
    """Calls a method of the value, once there is one, without a thread that waits."""
    result: "Future[Any]" = Future()

    def invoke(held: "Future[Any]") -> None:
        try:
            value = getattr(_value_of(held), name)
            is_async = hasattr(value, "_wrapped_async_rpc_function")
            returned = value(*args, **kwargs)
        except BaseException as e:
            result.set_exception(e)
            return
        if is_async:
            returned.add_done_callback(functools.partial(_pass_on, result))
        else:
            result.set_result(returned)

    rref._local().add_done_callback(invoke)
    return result


def _invoke_and_wait(rref: "RRef[Any]", name: str, args: Any, kwargs: Any) -> Any:
    """Calls a method whose result is to be kept: a reference to it is created when it returns."""
    return getattr(rref.local_value(), name)(*args, **kwargs)


_invoke_method._wrapped_async_rpc_function = _invoke_method  # type: ignore[attr-defined]


def _pass_on(result: "Future[Any]", done: Any) -> None:
    try:
        value = done.value()
    except BaseException as e:
        result.set_exception(e)
    else:
        result.set_result(value)


def _value_of(held: "Future[Any]") -> Any:
    try:
        return held.value()
    except KeptError as e:
        python_calls.raise_remote(e.remote)


def _backward(rref: "RRef[Any]", context_id: int, retain_graph: bool) -> None:
    import torch

    value = rref.local_value()
    if not isinstance(value, torch.Tensor):
        raise RuntimeError("RRef should contain a tensor for .backward()")
    if context_id == -1:
        value.backward(retain_graph=retain_graph)
    else:
        from waybill import autograd

        autograd.backward(context_id, [value], retain_graph)


def _reduce_rref(rref: "RRef[Any]") -> Any:
    return rref._serialize()


pickling.register(RRef, _reduce_rref)
