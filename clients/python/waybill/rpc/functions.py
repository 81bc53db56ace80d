"""Decorators for functions that are called by other workers."""

import functools
from typing import Any, Callable, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def async_execution(fn: F) -> F:
    """Marks a function that returns a future. Its caller gets what the future completes with.

    No thread of the callee waits meanwhile. The future may come from :func:`waybill.rpc.rpc_async`, from ``then``, or
    may be completed by the function's own code. This decorator goes below ``staticmethod`` and ``classmethod``.

    Example::

        @rpc.functions.async_execution
        def add_and_double(to, x, y):
            return rpc.rpc_async(to, operator.add, args=(x, y)).then(lambda sum: 2 * sum.value())
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    wrapper._wrapped_async_rpc_function = fn  # type: ignore[attr-defined]
    return wrapper  # type: ignore[return-value]
