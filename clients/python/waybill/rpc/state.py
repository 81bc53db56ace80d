"""The agent of this process, and futures of the kind that its program uses."""

from typing import TYPE_CHECKING, Any, Optional

from waybill.futures import Future
from waybill.libraries import loaded

if TYPE_CHECKING:
    from waybill.rpc.agent import Agent

_agent: Optional[Any] = None


def current_agent() -> "Agent":
    """The agent; raises before ``init_rpc`` and after ``shutdown``."""
    if _agent is None:
        raise RuntimeError(
            "Current RPC agent is not set! Did you initialize the RPC framework (e.g. by calling `rpc.init_rpc`)?"
        )
    return _agent


def initialized() -> "Agent":
    """The agent, for a function of the API; raises before ``init_rpc`` and after ``shutdown``."""
    if _agent is None:
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
    return _agent


def is_set() -> bool:
    """Whether there is an agent."""
    return _agent is not None


def set_agent(agent: Any) -> None:
    """Makes this the agent of the process; None for no agent."""
    global _agent
    _agent = agent


def is_current(worker: Any) -> bool:
    """Whether a worker is that of the agent."""
    return _agent is not None and getattr(_agent, "worker", None) is worker


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
