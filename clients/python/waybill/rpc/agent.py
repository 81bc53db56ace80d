"""A process's member of a group: its worker, its timeout, and calls of Python functions by name or id of the callee."""

import collections
import threading
import time
from functools import partial
from typing import Any, Dict, List, Optional, Set, Tuple, Union

from waybill import client, gateway, pickling, profiling, python_calls, timeouts
from waybill.connection import Exchange, Outcome
from waybill.errors import CallError, CallTimeout, timeout_text
from waybill.python_calls import RemoteException
from waybill.roster import Membership, WorkerInfo, check_name
from waybill.rpc import constants, state
from waybill.rpc.meeting import Meeting
from waybill.rpc.options import WaybillRpcBackendOptions
from waybill.rpc.rref import RRef
from waybill.worker import Worker

Destination = Union[str, int, WorkerInfo]
# requests whose waits are averaged
_WAITS = 1000


class Agent:
    """Calls of this process. Made by ``init_rpc``; any thread may call."""

    def __init__(self, name: str, rank: int, world_size: Optional[int], options: WaybillRpcBackendOptions) -> None:
        check_name(name)
        membership = None
        if rank >= 0:
            membership = Membership(rank, world_size or 0, gateway.group_of(options.init_method))
        self._begin(self._connect(name, membership, options), bool(world_size), options)
        self.worker.find_operation = client.served

    def _begin(self, worker: Worker, is_static_group: bool, options: WaybillRpcBackendOptions) -> None:
        self._timeout = options.rpc_timeout
        self.options = options
        self.is_static_group = is_static_group
        self.worker = worker
        # of the members, by names and ranks
        self._infos: Dict[Any, WorkerInfo] = {}
        self._members: Set[str] = {worker.info.name}
        self._lock = threading.Lock()
        self._calls = 0
        self.meeting = Meeting()
        pickling.make_reference = lambda reference: RRef._received(self.worker, reference)

    @staticmethod
    def _connect(name: str, membership: Optional[Membership], options: WaybillRpcBackendOptions) -> Worker:
        home = gateway.home_of(options.init_method)
        path = options.socket or gateway.find(home)
        paths = tuple if options.socket else partial(gateway.candidates, home)
        try:
            return Worker(path, {"role": "client", "name": name}, options.num_worker_threads, paths, membership)
        except CallError as e:
            raise RuntimeError("RPC worker name %s is not unique, or can't join: %s" % (name, e)) from e

    def start(self) -> None:
        """Begins to serve."""
        profiling.join(self.worker.info.id)
        self.worker.start()

    def take_members(self, members: List[WorkerInfo]) -> None:
        """These are the members of the group."""
        self._infos = {key: info for info in members for key in info}
        self._members = {info.name for info in members}

    # Who

    def get_worker_info(self, worker: Optional[Destination] = None) -> WorkerInfo:
        """Name and id of a worker of the home, or of this one."""
        known = self._infos.get(worker) if type(worker) is str else None
        if known is not None:
            return known
        if worker is None:
            return self.worker.info
        if isinstance(worker, WorkerInfo):
            return worker
        if isinstance(worker, bool) or not isinstance(worker, (str, int)):
            raise ValueError("Cannot get WorkerInfo from name {}".format(worker))
        known = self._infos.get(worker) or self.worker.roster.find(worker)
        if known is None:
            self.worker.workers()
            known = self.worker.roster.find(worker)
        if known is None:
            kind = "name" if isinstance(worker, str) else "id"
            own = self.worker.info
            raise RuntimeError("name:%s,rank:%d could not find destination %s %s" % (own.name, own.id, kind, worker))
        return known

    def get_worker_infos(self) -> List[WorkerInfo]:
        """The members of the group."""
        return [self.get_worker_info(name) for name in sorted(self._members)]

    def member_names(self) -> Set[str]:
        """Names of the members of the group."""
        return set(self._members)

    # Timeouts

    @property
    def rpc_timeout(self) -> float:
        """Default timeout in seconds; 0 means none."""
        return self._timeout

    @rpc_timeout.setter
    def rpc_timeout(self, seconds: float) -> None:
        self._timeout = timeouts.to_seconds(seconds, "rpc_timeout")

    def timeout_ns(self, seconds: Optional[float]) -> int:
        """A timeout for the gateway, in ns, 0 for none. -1 means the default; other negative ones are over at once."""
        found = timeouts.to_ns(self._timeout if seconds == constants.UNSET_RPC_TIMEOUT else seconds)
        if found < 0:
            raise CallTimeout(timeout_text(timeouts.in_ms(found)), "TIMED_OUT")
        return found

    # Calls

    def call_sync(
        self,
        to: WorkerInfo,
        function: Any,
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        timeout: Optional[float] = constants.UNSET_RPC_TIMEOUT,
    ) -> Any:
        """Calls a function and returns what it returns, or raises its error."""
        worker = self.worker
        exchange = worker.call_python(to.name, function, args, kwargs, self.timeout_ns(timeout))
        return _value(worker, worker.wait(exchange))

    def call_async(
        self,
        to: WorkerInfo,
        function: Any,
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        timeout: Optional[float] = constants.UNSET_RPC_TIMEOUT,
        profile: Optional[profiling.Call] = None,
    ) -> Any:
        """Calls a function and returns a future of what it returns."""
        future = state.new_future()
        worker = self.worker
        with self._lock:
            self._calls += 1

        def finish(exchange: Exchange) -> None:
            try:
                value = _value(worker, exchange.outcome())
            except BaseException as e:
                error: Optional[BaseException] = e
            else:
                error = None
            if profile is not None:
                profile.finish(_events(exchange))
            try:
                if error is None:
                    future.set_result(value)
                else:
                    future.set_exception(error)
            finally:
                with self._lock:
                    self._calls -= 1

        try:
            timeout_ns = self.timeout_ns(timeout)
            worker.call_python(
                to.name,
                function,
                args,
                kwargs,
                timeout_ns,
                False,
                lambda x: worker.executor.submit_or_run(finish, x),
                profile and profile.field,
            )
        except CallTimeout as e:
            self._not_sent()
            future.set_exception(e)
        except BaseException:
            self._not_sent()
            raise
        return future

    def _not_sent(self) -> None:
        with self._lock:
            self._calls -= 1

    def create(
        self,
        to: WorkerInfo,
        function: Any,
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        timeout: Optional[float] = constants.UNSET_RPC_TIMEOUT,
        profile: Optional[profiling.Call] = None,
    ) -> "RRef[Any]":
        """Calls a function whose result stays with the callee; returns the reference at once."""
        worker = self.worker
        timeout_ns = self.timeout_ns(timeout)
        field = profile and profile.field
        began = time.monotonic_ns()
        exchange = worker.call_python(to.name, function, args, kwargs, timeout_ns, True, None, field)
        references = worker.wait(exchange).message.references
        rref = RRef._received(worker, references[0])
        if not rref.is_owner():
            rref._watch(timeout_ns, began)
        if profile is not None:
            rref._set_profiling_future(self._fetch_profile(to, profile, timeout))
        return rref

    def _fetch_profile(self, to: WorkerInfo, profile: profiling.Call, timeout: Optional[float]) -> Any:
        """A future that completes when the profile has the events of a creation."""
        future = state.new_future()

        def finish(fetched: Any) -> None:
            try:
                events = fetched.value()
            except Exception:
                events = None
            profile.finish(events)
            future.set_result(None)

        with profiling.unprofiled():
            self.call_async(to, profiling.take_events, (profile.token,), {}, timeout).add_done_callback(finish)
        return future

    def calls_in_flight(self) -> int:
        """Asynchronous calls whose callbacks have not all run."""
        with self._lock:
            return self._calls

    # Leaving

    def join(self, shutdown: bool = False, timeout: Optional[float] = 0) -> None:
        """Waits until no call of this process is in flight, and no response to those of others that there are now."""
        limit_ns = timeouts.to_limit_ns(timeout)
        end = time.monotonic() + limit_ns / 1e9 if limit_ns else None
        is_responding = self.worker.responding()
        while self.calls_in_flight() or self.worker.connection.in_flight() or is_responding():
            if end is not None and time.monotonic() > end:
                raise RuntimeError(
                    "shutdown: expected no call in flight after %s s, found %d" % (timeout, self.calls_in_flight())
                )
            time.sleep(0.001)

    def release_references(self, timeout: Optional[float]) -> List[str]:
        """Releases references, and waits until no member holds one to a value of this process; returns what is left."""
        limit_ns = timeouts.to_limit_ns(timeout) or timeouts.to_limit_ns(constants.REFERENCES_TIMEOUT)
        fields = {"workers": sorted(self._members), "limit_ms": timeouts.in_ms(limit_ns)}
        left = self.worker.ask_gateway("gateway.shutdown", fields)["left"]
        return [str(line) for line in left] if isinstance(left, (list, tuple)) else ([str(left)] if left else [])

    def shutdown(self) -> None:
        """Leaves the home."""
        pickling.make_reference = None
        self.worker.leave()

    def get_debug_info(self) -> Dict[str, str]:
        """Counters of this process, as strings."""
        info = {
            "agent.thread_pool_size": str(self.worker.executor.limit),
            "agent.num_idle_threads": str(self.worker.executor.idle()),
            "agent.client_active_calls": str(self.worker.connection.in_flight()),
            "agent.server_active_calls": str(self.worker.executor.active()),
            "agent.server_active_async_calls": "0",
        }
        waits = self.worker.waits
        if waits is not None:
            measured = list(waits)
            info["agent.gil_average_wait_time_us"] = "%.1f" % (sum(measured) / max(1, len(measured)) / 1000)
        return info

    def measure_waits(self, on: bool) -> None:
        """Has the counters contain how long requests wait for a thread and for the interpreter's lock, or no more."""
        self.worker.waits = collections.deque(maxlen=_WAITS) if on else None

    get_metrics = get_debug_info


class ReplayAgent(Agent):
    """That of a process in which recorded calls run again: the calls of functions get the responses on record."""

    def __init__(self, worker: Worker) -> None:
        self._begin(worker, False, WaybillRpcBackendOptions())

    def get_worker_info(self, worker: Optional[Destination] = None) -> WorkerInfo:
        """A worker by its name, also one that is not there: in a replay there is no other one."""
        try:
            return super().get_worker_info(worker)
        except RuntimeError:
            if isinstance(worker, str):
                return WorkerInfo(worker, -1)
            raise


def _events(exchange: Exchange) -> Any:
    try:
        return python_calls.events_of(exchange.outcome().message)
    except Exception:
        return None


def _value(worker: Worker, outcome: Outcome) -> Any:
    value = worker.result_of(outcome)
    if isinstance(value, RemoteException):
        python_calls.raise_remote(value)
    return value
