"""Errors of calls."""

import enum
from typing import Dict, Optional, Tuple, Type


class ErrorKind(enum.IntEnum):
    """PyTorch's classification of an error; its number stands in the text ``RPCErr:<kind>:``."""

    UNKNOWN = 0
    TIMEOUT = 1
    INTENTIONAL_FAILURE = 2


class CallError(RuntimeError):
    """A call that failed for a reason of the broker or of a handler, not of a Python function.

    A handler that does not catch the failure of its own call fails with ``HANDLER_FAILED``; the call that failed first,
    however many handlers are in between, is in ``root_code`` and ``root_id``.

    :ivar code: name of the broker's error code, such as ``WORKER_LOST``
    :ivar kind: PyTorch's classification
    :ivar root_code: the code of the call that failed first; ``code`` when this one failed by itself
    :ivar root_id: the id of that call, as ``waybill journal show`` takes it; None when it was not sent
    """

    kind = ErrorKind.UNKNOWN

    def __init__(
        self, text: str, code: str = "UNKNOWN", root_code: Optional[str] = None, root_id: Optional[str] = None
    ) -> None:
        super().__init__(text)
        self.code = code
        self.root_code = root_code or code
        self.root_id = root_id


class CallTimeout(CallError, TimeoutError):
    """A call without a response before its deadline. The function may still run."""

    kind = ErrorKind.TIMEOUT


class WorkerLost(CallError, ConnectionError):
    """A call whose callee ended before it responded."""


class NotSent(WorkerLost):
    """A call that was not sent: the connection to the gateway had ended before."""


class FunctionNotFound(AttributeError, RuntimeError):
    """A call of a function that the callee can't import."""


class CodeRefused(RuntimeError):
    """A pickle that contains code, in a process that takes functions and classes by their names only."""


class ProtocolError(RuntimeError):
    """A frame that the gateway or the client must not send."""


class MalformedError(ValueError):
    """Bytes that are not what their reader expects; names the offset and never quotes the content."""


def timeout_text(timeout_ms: int) -> str:
    """PyTorch's text of a timeout, which programs parse."""
    return "RPCErr:1:RPC ran for more than set timeout (%d ms) and will now be marked with an error" % timeout_ms


CODES: Dict[int, str] = {
    1: "MALFORMED_BODY",
    2: "UNKNOWN_TYPE",
    3: "UNKNOWN_OPERATION",
    4: "REFUSED",
    5: "TOO_LARGE",
    6: "TIMED_OUT",
    7: "UNKNOWN_WORKER",
    8: "NO_MATCHING_SCHEMA",
    9: "REFERENCE_DELETED",
    10: "UNKNOWN_CALL",
    11: "ACCESS_DENIED",
    1001: "HANDLER_FAILED",
    1002: "HANDLER_GONE",
    1003: "HANDLER_STUCK",
    1004: "NO_RESPONSE",
    2001: "JOURNAL_FULL",
    2002: "BACK_PRESSURE",
    2003: "CLOSED",
    2004: "WORKER_LOST",
    2005: "PEER_CORRUPT",
    2006: "JOURNAL_FAILED",
    2007: "OWNER_LOST",
    2008: "NOT_KEPT",
    2009: "INTENTIONAL_FAILURE",
    2010: "RESPONSE_GONE",
    2011: "TENSORS_GONE",
    2012: "RESOURCE_UNAVAILABLE",
    3001: "DEVICE_FULL",
    3002: "DEVICE_LOST",
    3003: "DEVICE_UNAVAILABLE",
    3004: "DEVICE_UNMAPPED",
    9999: "UNKNOWN",
}
NUMBERS: Dict[str, int] = {name: number for number, name in CODES.items()}
_CLASSES: Dict[str, Type[CallError]] = {"TIMED_OUT": CallTimeout, "WORKER_LOST": WorkerLost, "OWNER_LOST": WorkerLost}


_NOT_SENT = (1 << 64) - 1
_COUNTER_BITS = 48
_MAX_CAUSES = 32


def call_error(number: int, kind: int, text: str, root: Optional[Tuple[int, int]] = None) -> CallError:
    """The exception for an error of the broker. The root is the number of a code and of an id."""
    code = CODES.get(number, "UNKNOWN")
    cls = CallTimeout if kind == ErrorKind.TIMEOUT else _CLASSES.get(code, CallError)
    if root is None:
        error = cls(text, code)
    else:
        error = cls(text, code, CODES.get(root[0], "UNKNOWN"), _id_text(root[1]))
    if kind == ErrorKind.INTENTIONAL_FAILURE:
        error.kind = ErrorKind.INTENTIONAL_FAILURE
    return error


def _id_text(number: int) -> Optional[str]:
    if number == _NOT_SENT:
        return None
    return "%d.%d" % (number >> _COUNTER_BITS, number & ((1 << _COUNTER_BITS) - 1))


def root_of(error: Optional[BaseException]) -> Optional[Tuple[int, int]]:
    """The numbers of the code and of the id of the failed call among an exception and its causes, or None."""
    for _ in range(_MAX_CAUSES):
        if error is None:
            return None
        if isinstance(error, CallError):
            worker, _, counter = (error.root_id or "").partition(".")
            number = _NOT_SENT if not counter else int(worker) << _COUNTER_BITS | int(counter)
            return NUMBERS.get(error.root_code, NUMBERS["UNKNOWN"]), number
        error = error.__cause__ or error.__context__
    return None
