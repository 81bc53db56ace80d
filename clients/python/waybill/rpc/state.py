"""The agent of this process, and futures of the kind that its program uses."""

import os
from typing import TYPE_CHECKING, Any, Optional

from waybill.futures import Future
from waybill.libraries import loaded

if TYPE_CHECKING:
    from waybill.rpc.agent import Agent

_agent: Optional[Any] = None
# of the process whose agent it is
_pid = 0


def current_agent() -> "Agent":
    """The agent; raises before ``init_rpc`` and after ``shutdown``."""
    if _agent is None or _pid != os.getpid():
        _check_fork()
        raise RuntimeError(
            "Current RPC agent is not set! Did you initialize the RPC framework (e.g. by calling `rpc.init_rpc`)?"
        )
    return _agent


def initialized() -> "Agent":
    """The agent, for a function of the API; raises before ``init_rpc`` and after ``shutdown``."""
    if _agent is None or _pid != os.getpid():
        _check_fork()
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
    return _agent


def is_set() -> bool:
    """Returns whether there is an agent."""
    return _agent is not None and _pid == os.getpid()


def _check_fork() -> None:
    """Raises in a process that was forked from one that has an agent."""
    if _agent is not None:
        raise RuntimeError(
            "waybill.rpc: expected the process that called init_rpc (pid %d, worker %s), found its forked child "
            "(pid %d); call init_rpc in the child with a name of its own, or make calls by name with waybill.call"
            % (_pid, _agent.worker.info.name, os.getpid())
        )


def set_agent(agent: Any) -> None:
    """Makes this the agent of the process; None for no agent."""
    global _agent, _pid
    _agent = agent
    _pid = os.getpid()


def is_current(worker: Any) -> bool:
    """Returns whether a worker is the agent's."""
    return is_set() and getattr(_agent, "worker", None) is worker


def new_future() -> Any:
    """A future: torch's own in a program that uses torch."""
    torch = loaded("torch")
    if torch is not None:
        return torch.futures.Future()
    return Future()


def completed_future(value: Any) -> Any:
    """A future that has its value."""
    future = new_future()
    future.set_result(value)
    return future
