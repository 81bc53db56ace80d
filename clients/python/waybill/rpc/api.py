"""Calls, groups and shutdown."""

import collections
import contextlib
import functools
import logging
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator, Optional, Set, Tuple, TypeVar

from waybill import timeouts
from waybill.errors import CallError
from waybill.futures import wait_all
from waybill.roster import WorkerInfo
from waybill.rpc import constants, internal, state
from waybill.rpc.agent import Agent, Destination
from waybill.rpc.constants import DEFAULT_SHUTDOWN_TIMEOUT, UNSET_RPC_TIMEOUT
from waybill.rpc.internal import RPCExecMode, _internal_rpc_pickler
from waybill.rpc.rref import RRef

logger = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])

# between two checks of the members, while waiting for others
_LOOK_SECONDS = 0.5
_MAX_LOOK_SECONDS = 5.0
_ignore_rref_leak = True
_default_pickler: Any = _internal_rpc_pickler
_thread_local_var = threading.local()


def _is_current_rpc_agent_set() -> bool:
    return state.is_set()


def _get_current_rpc_agent() -> Agent:
    return state.current_agent()


def _set_and_start_rpc_agent(agent: Any) -> None:
    state.set_agent(agent)
    agent.start()


def _reset_current_rpc_agent() -> None:
    state.set_agent(None)


def _init_rpc_states(agent: Any) -> None:
    """Makes the agent that of this process, and has it serve."""
    if not _is_current_rpc_agent_set():
        _set_and_start_rpc_agent(agent)


def _require_initialized(function: F) -> F:
    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        state.initialized()
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


@contextlib.contextmanager
def _use_rpc_pickler(rpc_pickler: Any) -> Iterator[None]:
    """Puts another pickler in the place of the default one inside the block."""
    global _default_pickler
    _default_pickler = rpc_pickler
    try:
        yield
    finally:
        _default_pickler = _internal_rpc_pickler


# Who


@_require_initialized
def get_worker_info(worker_name: Optional[Destination] = None) -> WorkerInfo:
    """Name and id of a worker by its name; of this one without a name."""
    return state.current_agent().get_worker_info(worker_name)


@_require_initialized
def get_rpc_timeout() -> float:
    """Default timeout of calls in seconds; 0 means none."""
    return state.current_agent().rpc_timeout


@_require_initialized
def _set_rpc_timeout(seconds: float) -> None:
    state.current_agent().rpc_timeout = seconds


# Calls


def _prepare(to: Destination, func: Any) -> Tuple[Agent, WorkerInfo]:
    agent = state.initialized()
    if not callable(func):
        raise TypeError("function should be callable.")
    if to is None:
        # get_worker_info(None) is this worker
        raise ValueError("Cannot get WorkerInfo from name None")
    return agent, agent.get_worker_info(to)


def buffer(size: int) -> memoryview:
    """Memory of so many bytes, zeros, from which tensors and arrays over all of it are sent without a copy.

    Receivers read it in place, as long as their functions run, or for a second: write it again when the call has
    returned. Each process that is forked shares it.

    Example::

        weights = torch.frombuffer(rpc.buffer(4 * 1000), dtype=torch.float32).reshape(10, 100)
        rpc.rpc_sync("worker1", load, args=(weights,))
    """
    return state.initialized().worker.buffer(size)


def rpc_sync(
    to: Destination,
    func: Any,
    args: Any = None,
    kwargs: Optional[Dict[str, Any]] = None,
    timeout: Optional[float] = UNSET_RPC_TIMEOUT,
) -> Any:
    """Calls a function on a worker and returns what it returns.

    :param to: name, id or :class:`WorkerInfo` of the callee
    :param func: a function, class or bound method that the callee can import under the same name
    :param args: positional arguments
    :param kwargs: named arguments
    :param timeout: in seconds; 0 and None mean none, -1 the default; any other negative one is over at once
    :raises CallTimeout: when there is no result in time; the function may still run
    :raises WorkerLost: when the callee ended before it responded
    :raises Exception: what the function raised, with its class and the callee's traceback in the text
    """
    agent, info = _prepare(to, func)
    profile = internal.profile_of(RPCExecMode.SYNC, info, func)
    if profile is not None:
        return agent.call_async(info, func, tuple(args or ()), kwargs or {}, timeout, profile).wait()
    return agent.call_sync(info, func, tuple(args or ()), kwargs or {}, timeout)


def rpc_async(
    to: Destination,
    func: Any,
    args: Any = None,
    kwargs: Optional[Dict[str, Any]] = None,
    timeout: Optional[float] = UNSET_RPC_TIMEOUT,
) -> Any:
    """Calls a function on a worker and returns a future of what it returns.

    The future is ``torch.futures.Future`` in a program that has imported torch, else :class:`waybill.futures.Future`.
    The arguments are copied before this function returns. Parameters and errors are those of :func:`rpc_sync`.
    """
    agent, info = _prepare(to, func)
    profile = internal.profile_of(RPCExecMode.ASYNC, info, func)
    future = agent.call_async(info, func, tuple(args or ()), kwargs or {}, timeout, profile)
    collected = getattr(_thread_local_var, "future_list", None)
    if collected is not None:
        collected.append(future)
    return future


def remote(
    to: Destination,
    func: Any,
    args: Any = None,
    kwargs: Optional[Dict[str, Any]] = None,
    timeout: Optional[float] = UNSET_RPC_TIMEOUT,
) -> "RRef[Any]":
    """Calls a function on a worker, where its result stays; returns a reference to it at once.

    An error of the function is raised where the reference is used. Parameters are those of :func:`rpc_sync`.
    """
    agent, info = _prepare(to, func)
    profile = internal.profile_of(RPCExecMode.REMOTE, info, func)
    return agent.create(info, func, tuple(args or ()), kwargs or {}, timeout, profile)


@contextlib.contextmanager
def _wait_all() -> Iterator[None]:
    """Waits at the end of the block for the futures of all :func:`rpc_async` calls that this thread made in it."""
    _thread_local_var.future_list = []
    try:
        yield
    finally:
        futures = _thread_local_var.future_list
        del _thread_local_var.future_list
        wait_all(futures)


# Groups


class AllGatherStates:
    """One gathering: what the members have sent so far, and the signal that all of it is there."""

    def __init__(self) -> None:
        self.gathered_objects: Dict[str, Any] = {}
        self.proceed_signal = threading.Event()


_all_gather_dict_lock = threading.RLock()
_all_gather_sequence_id: Dict[str, int] = {}
_all_gather_sequence_id_to_states: Dict[str, AllGatherStates] = collections.defaultdict(AllGatherStates)


# what this member has sent to a leader that has not responded with all of it
_gathered: Dict[str, Tuple[str, Any, Set[str]]] = {}


def numbers_for(name: str) -> Dict[str, int]:
    """Numbers of the next gathering of each group for a member that has just come; of one that waits for it."""
    with _all_gather_dict_lock:
        numbers = dict(_all_gather_sequence_id)
        for group, number in numbers.items():
            waiting = _all_gather_sequence_id_to_states.get(group + str(number - 1))
            if waiting is not None and not waiting.proceed_signal.is_set():
                waiting.gathered_objects.pop(name, None)
                numbers[group] = number - 1
        return numbers


def adopt(numbers: Dict[str, int]) -> None:
    """Takes the numbers that another member has given by :func:`numbers_for`."""
    with _all_gather_dict_lock:
        _all_gather_sequence_id.update(numbers)


def gather_again(leader: str) -> None:
    """Sends again what a leader has lost that has restarted."""
    own = state.current_agent().worker.info.name
    with _all_gather_dict_lock:
        lost = [(key, *sent[1:]) for key, sent in _gathered.items() if sent[0] == leader]
    for key, obj, members in lost:
        rpc_async(leader, _gather_to_leader, args=(key, own, obj, members), timeout=constants.GROUP_TIMEOUT)


def _gather_to_leader(sequence_id: str, worker_name: str, obj: Any, worker_names: Optional[Set[str]] = None) -> None:
    """On the leader: takes what a member sends."""
    members = worker_names or state.current_agent().member_names()
    with _all_gather_dict_lock:
        gathering = _all_gather_sequence_id_to_states[sequence_id]
        if worker_name not in members or worker_name in gathering.gathered_objects:
            raise RuntimeError("gathering %s: expected each of its members once, found %s" % (sequence_id, worker_name))
        gathering.gathered_objects[worker_name] = obj
        if members == set(gathering.gathered_objects):
            gathering.proceed_signal.set()


def _broadcast_to_followers(sequence_id: str, objects_map: Dict[str, Any]) -> None:
    """On the other members: takes what the leader has gathered."""
    with _all_gather_dict_lock:
        gathering = _all_gather_sequence_id_to_states[sequence_id]
        if gathering.proceed_signal.is_set():
            raise RuntimeError("gathering %s: expected its end once" % sequence_id)
        gathering.gathered_objects = objects_map
        gathering.proceed_signal.set()


@_require_initialized
def _all_gather(
    obj: Any, worker_names: Optional[Set[str]] = None, timeout: Optional[float] = UNSET_RPC_TIMEOUT
) -> Dict[str, Any]:
    """Gives every member what each of them has; the member with the first name collects and distributes it."""
    members = set(worker_names or state.current_agent().member_names())
    leader = min(members)
    own = state.current_agent().worker.info.name
    group = "".join(sorted(members))
    with _all_gather_dict_lock:
        number = _all_gather_sequence_id.get(group, 0)
        _all_gather_sequence_id[group] = number + 1
    sequence_id = group + str(number)
    call_timeout = get_rpc_timeout() if timeout == UNSET_RPC_TIMEOUT else timeout
    signal_timeout = None if timeout in (UNSET_RPC_TIMEOUT, DEFAULT_SHUTDOWN_TIMEOUT) else timeouts.to_wait(timeout)
    if own == leader:
        _gather_to_leader(sequence_id, own, obj, members)
    else:
        with _all_gather_dict_lock:
            _gathered[sequence_id] = (leader, obj, members)
            # in the place of which a leader that has restarted finds this one waiting
            _all_gather_sequence_id_to_states[sequence_id]
        rpc_sync(leader, _gather_to_leader, args=(sequence_id, own, obj, members), timeout=call_timeout)
    with _all_gather_dict_lock:
        gathering = _all_gather_sequence_id_to_states[sequence_id]
    _await_others(gathering, members if own == leader else {leader}, signal_timeout)
    if own == leader:
        _distribute(sequence_id, members - {own}, gathering.gathered_objects, call_timeout)
    with _all_gather_dict_lock:
        _gathered.pop(sequence_id, None)
        return _all_gather_sequence_id_to_states.pop(sequence_id).gathered_objects


def _await_others(gathering: AllGatherStates, others: Set[str], timeout: Optional[float]) -> None:
    """Waits until the gathering is complete, as long as those that it waits for are there, or come back in time.

    :param others: whose part it lacks
    :param timeout: in seconds; None for none
    """
    agent = state.current_agent()
    end = None if timeout is None else time.monotonic() + timeout
    limit = timeout or agent.rpc_timeout or constants.GROUP_TIMEOUT
    gone: Dict[str, float] = {}
    pause = _LOOK_SECONDS
    while not gathering.proceed_signal.wait(pause if end is None else max(0.0, min(pause, end - time.monotonic()))):
        missing = sorted(others - set(gathering.gathered_objects))
        if end is not None and time.monotonic() >= end:
            raise RuntimeError("gathering: expected all members within %s s, found nothing of %s" % (timeout, missing))
        try:
            present = {each.info.name for each in agent.worker.workers()}
        except CallError:
            # without a gateway nothing is known of them
            continue
        gone = {name: gone.get(name, time.monotonic()) for name in missing if name not in present}
        for name, since in gone.items():
            if time.monotonic() - since >= limit:
                raise RuntimeError(
                    "gathering: expected %s, found that it ended, and did not come back within %s s" % (name, limit)
                )
        pause = min(pause * 1.5, _MAX_LOOK_SECONDS)


def _distribute(sequence_id: str, followers: Set[str], objects: Dict[str, Any], timeout: Optional[float]) -> None:
    futures = {
        name: rpc_async(name, _broadcast_to_followers, args=(sequence_id, objects), timeout=timeout)
        for name in followers
    }
    errors = []
    for name, future in futures.items():
        try:
            future.wait()
        except RuntimeError as e:
            errors.append((name, e))
    if errors:
        raise RuntimeError(
            "Followers %s timed out in _all_gather after %.2f seconds. The first exception is %s"
            % ([name for name, _ in errors], 0 if timeout is None else timeout, errors[0][1])
        )


@_require_initialized
def _barrier(worker_names: Any) -> None:
    """Waits until every one of the workers has called this function."""
    try:
        _all_gather(None, set(worker_names))
    except RuntimeError as e:
        logger.error("barrier failed: %s", e)


@_require_initialized
def _wait_all_workers(timeout: Optional[float] = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Waits until every member of the group has called this function."""
    try:
        _all_gather(None, timeout=timeout)
    except RuntimeError as e:
        logger.error("shutdown: not every member responded in time: %s", e)
        raise


# Leaving


@_require_initialized
def _delete_all_user_and_unforked_owner_rrefs(timeout: Optional[float] = 0) -> Any:
    """Releases the references of this process, and waits until no other worker holds one to its values."""
    left = state.current_agent().release_references(timeout)
    if left:
        logger.warning("references that had not ended: %s", left)
    return left


@_require_initialized
def shutdown(graceful: bool = True, timeout: Optional[float] = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Leaves the home.

    :param graceful: first wait until every member of the group calls this function and no call or reference is left
    :param timeout: of the wait for each member, in seconds; 0 and None mean none
    """
    if timeout == UNSET_RPC_TIMEOUT:
        timeout = DEFAULT_SHUTDOWN_TIMEOUT
    timeouts.to_limit_ns(timeout)
    left: Any = None
    try:
        if graceful:
            agent = state.current_agent()
            if agent.is_static_group:
                _wait_all_workers(timeout)
                left = _delete_all_user_and_unforked_owner_rrefs()
            agent.join(shutdown=True, timeout=timeout)
            agent.meeting.over()
    finally:
        _finalize_shutdown(left)


def _finalize_shutdown(left: Any = None) -> None:
    agent = state.current_agent()
    try:
        if not _ignore_rref_leak and left:
            raise RuntimeError("Leaking RRef: %s" % left)
    finally:
        _reset_current_rpc_agent()
        agent.shutdown()


# Counters


@_require_initialized
def _rref_context_get_debug_info() -> Dict[str, str]:
    """PyTorch's counters of references."""
    found = state.current_agent().worker.ask_gateway("gateway.reference.debug", {})
    return {str(key): str(value) for key, value in found.items()}


@_require_initialized
def _get_debug_info() -> Dict[str, str]:
    """All counters of this process."""
    info = _rref_context_get_debug_info()
    info.update(state.current_agent().get_debug_info())
    autograd = sys.modules.get("waybill.autograd")
    if autograd is not None:
        info.update(autograd._get_debug_info())
    return info


@_require_initialized
def enable_gil_profiling(flag: bool) -> None:
    """Adds ``agent.gil_average_wait_time_us`` to the counters: how long the last requests waited to be run."""
    state.current_agent().measure_waits(flag)


__all__ = ["AllGatherStates", "RRef", "constants", "get_worker_info", "remote", "rpc_async", "rpc_sync", "shutdown"]
