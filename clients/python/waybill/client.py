"""Calls by name, for programs that need nothing else."""

import atexit
import os
import threading
from functools import partial
from typing import Any, Callable, Dict, Mapping, Optional, TypeVar

from waybill import gateway, timeouts
from waybill.roster import WorkerInfo
from waybill.worker import Worker

F = TypeVar("F", bound=Callable[..., Any])
_DEFAULT_TIMEOUT = 60.0
# the first of those that processes without a name of their own share
_NAME = "python"
_operations: Dict[str, Callable[..., Any]] = {}
_lock = threading.Lock()
_shared: Optional["Client"] = None


def operation(name: str) -> Callable[[F], F]:
    """Decorator: this process serves calls by this name. Their fields are the function's named arguments.

    Example::

        @waybill.operation("text.count")
        def count(text):
            return {"words": len(text.split())}
    """

    def register(function: F) -> F:
        _operations[name] = function
        return function

    return register


def served(name: str) -> Optional[Callable[..., Any]]:
    """The function that this process serves under a name; None if there is none."""
    return _operations.get(name)


class Client:
    """A process in the home: calls operations by name, and serves those that :func:`operation` registered."""

    def __init__(
        self, name: Optional[str], home: Optional[str] = None, socket: Optional[str] = None, serve: bool = True
    ) -> None:
        """Joins a home.

        :param name: of the worker; None: ``python``, or ``python-2`` and so on while others have that name
        """
        hello: Dict[str, Any] = {"role": "client", "name": _NAME if name is None else name}
        if name is None:
            hello["numbered"] = True
        if not serve:
            hello["serves"] = []
        home = home or gateway.home_of()
        path = socket or gateway.find(home)
        self._worker = Worker(path, hello, paths=tuple if socket else partial(gateway.candidates, home))
        self._worker.find_operation = served
        self._worker.start()

    @property
    def info(self) -> WorkerInfo:
        """Name and id of this process in the home."""
        return self._worker.info

    def call(
        self,
        operation: str,
        /,
        *args: Any,
        to: Any,
        timeout: Optional[float] = _DEFAULT_TIMEOUT,
        fields: Optional[Mapping[str, Any]] = None,
        **named: Any,
    ) -> Any:
        """Calls an operation of a worker and returns its response.

        :param operation: such as ``text.count``, or ``aten::mm`` for an operator of libtorch
        :param to: name or id of the worker
        :param timeout: in seconds; 0 and None mean none
        :param fields: further fields, of any name: the only way for those that are named ``to``, ``timeout`` and
            ``fields``
        :raises TypeError: for a value that can't be sent, before anything is; also :class:`ValueError`
        """
        timeout_ns = timeouts.to_limit_ns(timeout)
        return self._worker.call_named(str(to), operation, args, _merged(named, fields), timeout_ns)

    def close(self) -> None:
        """Leaves the home."""
        self._worker.leave()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def connect(name: Optional[str] = None, home: Optional[str] = None, serve: bool = True) -> Client:
    """Joins a home; without a name as ``python``, or ``python-2`` and so on while others have that name."""
    return Client(name or None, home, serve=serve)


def _merged(named: Dict[str, Any], fields: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    if fields is None:
        return named
    if not isinstance(fields, Mapping):
        raise TypeError(
            "fields: expected a mapping of names to values, found %s; a field of this name goes into the mapping"
            % type(fields).__name__
        )
    for name in fields:
        if name in named:
            raise TypeError("fields: expected each field once, found %r as a named argument, too" % (name,))
    return {**named, **fields}


def call(
    operation: str,
    /,
    *args: Any,
    to: Any,
    timeout: Optional[float] = _DEFAULT_TIMEOUT,
    fields: Optional[Mapping[str, Any]] = None,
    **named: Any,
) -> Any:
    """Calls an operation by name; the first call joins the home, the end of the process leaves it.

    Parameters and errors are those of :meth:`Client.call`.

    Example::

        waybill.call("text.count", to="ps0", text="to be or not to be")["words"]
    """
    global _shared
    with _lock:
        if _shared is None:
            _shared = connect(serve=False)
            atexit.register(_shared.close)
        client = _shared
    return client.call(operation, *args, to=to, timeout=timeout, fields=fields, **named)


def _forget_parents() -> None:
    """In a forked process: its first call joins the home under another name."""
    global _shared, _lock
    _shared = None
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parents)
