"""Profiles of calls: events for PyTorch's legacy profiler about the calls of a thread, and their work at the callee."""

import collections
import contextlib
import itertools
import threading
import time
import uuid
from typing import Any, Callable, Deque, Iterator, List, NamedTuple, Optional

from waybill.futures import Future
from waybill.libraries import loaded
from waybill.values import encode_value

REMOTE_OP = "#remote_op: "
_MAX_EVENTS = 20000
# of the events of a response, whose payload has a limit
_MAX_BYTES = 1 << 18
_MAX_KEPT = 256
_SHAPES, _MEMORY, _STACK, _FLOPS = 1, 2, 4, 8
_local = threading.local()
_original: List[Callable[..., Any]] = []
_kept: "collections.OrderedDict[str, Future[Any]]" = collections.OrderedDict()
_lock = threading.Lock()
_node = -1
# profiles of all requests of this process; any thread
process_wide: List[Any] = []


class Event(NamedTuple):
    """An interval of a profile; times are microseconds of the host's clock, so that those of its processes compare."""

    name: str
    thread: int
    start: float
    end: float
    node: int
    is_async: bool
    is_remote: bool
    shapes: List[Any]
    stack: List[Any]
    scope: int
    memory: int
    sequence: int
    flops: int


_TYPES = (str, int, float, float, int, bool, bool, list, list, int, int, int, int)


class Recording:
    """Events of calls for the profile of one thread; any thread adds events."""

    def __init__(self, flags: int) -> None:
        self.flags = flags
        self.events: Deque[Event] = collections.deque(maxlen=_MAX_EVENTS)


class Call:
    """A call in a profile."""

    def __init__(self, recording: Recording, key: str, node: int, create: bool) -> None:
        self._recording = recording
        self._key = key
        self._node = node
        self._start = _now()
        # what the callee needs: how to profile, and under what name it keeps the events of a creation
        self.token = uuid.uuid4().hex if create else ""
        self.field = [recording.flags, self.token]

    def finish(self, events: Any) -> None:
        """Adds the call, and what the callee has sent of it."""
        add = self._recording.events.append
        add(Event(self._key, threading.get_ident(), self._start, _now(), self._node, True, False, [], [], 0, 0, -1, 0))
        for event in _received(events):
            add(event._replace(name=self._key + REMOTE_OP + event.name, is_remote=True))


def _now() -> float:
    return time.time_ns() / 1000


def _received(events: Any) -> Iterator[Event]:
    for event in events if isinstance(events, list) else ():
        if isinstance(event, list) and tuple(map(type, event)) == _TYPES:
            yield Event(*event)


def join(node: int) -> None:
    """Has profiles of this process show the worker's id."""
    global _node
    _node = node
    if install():
        loaded("torch")._C._distributed_rpc._set_profiler_node_id(node)


def install() -> bool:
    """Returns whether profiles receive their threads' calls; starts this if the program has imported torch."""
    if _original:
        return True
    torch = loaded("torch")
    native = getattr(getattr(torch, "_C", None), "_distributed_rpc", None)
    if native is None or not hasattr(native, "_set_profiler_node_id"):
        return False
    with _lock:
        if not _original:
            if _node >= 0:
                native._set_profiler_node_id(_node)
            _install()
    return True


def _install() -> None:
    from torch.autograd import profiler_legacy

    parse, start = profiler_legacy._parse_legacy_records, profiler_legacy.profile._start_trace
    _original.append(parse)

    def start_trace(self: Any) -> None:
        _local.recording = Recording(_flags(self))
        start(self)

    def parse_records(records: Any) -> Any:
        functions = parse(records)
        recording, _local.recording = getattr(_local, "recording", None), None
        if recording is not None and recording.events:
            base = _base(records)
            functions += [_function_event(number, event, base) for number, event in enumerate(recording.events)]
            functions.sort(key=lambda function: (function.time_range.start, -function.time_range.end))
        return functions

    profiler_legacy.profile._start_trace = start_trace
    profiler_legacy._parse_legacy_records = parse_records


def _flags(profile: Any) -> int:
    asked = (profile.record_shapes, profile.profile_memory, profile.with_stack, profile.with_flops)
    return sum(bit for bit, on in zip((_SHAPES, _MEMORY, _STACK, _FLOPS), asked) if on)


def _base(records: Any) -> float:
    return float(next(r.start_us() for one in records for r in one if r.name() == "__start_profile"))


def _function_event(number: int, event: Event, base: float) -> Any:
    from torch.autograd.profiler_util import FunctionEvent

    return FunctionEvent(
        id=-1 - number,
        name=event.name,
        trace_name=event.name,
        thread=event.thread,
        start_us=event.start - base,
        end_us=event.end - base,
        input_shapes=event.shapes,
        stack=event.stack,
        scope=event.scope,
        cpu_memory_usage=event.memory,
        is_async=event.is_async,
        is_remote=event.is_remote,
        sequence_nr=event.sequence,
        node_id=event.node,
        is_legacy=True,
        flops=event.flops,
    )


def begin(key: str, node: int, create: bool = False) -> Optional[Call]:
    """A call in the profile of this thread; None if there is no profile."""
    recording = getattr(_local, "recording", None)
    if recording is None:
        if not install():
            return None
        # a profile that is older than the worker
        recording = _local.recording = Recording(0)
    return Call(recording, key, node, create)


class Served:
    """The profile of a request that this process serves, for its caller and for profiles of the whole process."""

    def __init__(self, field: Any) -> None:
        self._flags, self._token = field if field else (0, "")
        self._wanted = bool(field)
        self._recording = Recording(self._flags)
        self._own: List[Event] = []
        self._kept = _kept_under(self._token) if self._token else None

    def run(self, function: Callable[[], Any]) -> Any:
        """Runs the request's function in a profile of this thread."""
        from torch.autograd import _profiler_enabled, profiler_legacy

        if _profiler_enabled():
            # a profile that an earlier function has left behind
            return function()
        outer, _local.recording = getattr(_local, "recording", None), self._recording
        asked = [bool(self._flags & bit) for bit in (_SHAPES, _MEMORY, _STACK, _FLOPS)]
        profile = profiler_legacy.profile(
            record_shapes=asked[0], profile_memory=asked[1], with_stack=asked[2], with_flops=asked[3]
        )
        profiler_legacy._enable_profiler_legacy(profile.config())
        try:
            return function()
        finally:
            records = profiler_legacy._disable_profiler_legacy()
            _local.recording = outer
            functions = _original[0](records)
            with _lock:
                for whole in process_wide:
                    whole.add(functions)
            if self._wanted:
                base = _base(records)
                self._own = [_event(function, base) for function in functions[:_MAX_EVENTS]]

    def events(self) -> Any:
        """Returns the events for the caller; called once, when the request's value exists."""
        if not self._wanted:
            return None
        events, left = [], _MAX_BYTES
        for event in itertools.chain(self._own, list(self._recording.events)):
            left -= len(encode_value(list(event)))
            if left < 0:
                break
            events.append(list(event))
        if self._kept is None:
            return events
        self._kept.set_result(events)
        return None


def _event(function: Any, base: float) -> Event:
    return Event(
        function.name,
        function.thread,
        function.time_range.start + base,
        function.time_range.end + base,
        function.node_id,
        function.is_async,
        function.is_remote,
        [list(shape) if isinstance(shape, (list, tuple)) else shape for shape in function.input_shapes or ()],
        [str(line) for line in function.stack or ()],
        int(function.scope),
        function.cpu_memory_usage,
        function.sequence_nr,
        function.flops or 0,
    )


def served(field: Any) -> Optional[Served]:
    """The profile of a request that arrived with this field; None when no profile wants it."""
    if field is None and not process_wide:
        return None
    return Served(field) if install() else None


def _kept_under(token: str) -> "Future[Any]":
    with _lock:
        future = _kept.setdefault(token, Future())
        while len(_kept) > _MAX_KEPT:
            _kept.popitem(last=False)
        return future


def take_events(token: str) -> "Future[Any]":
    """On the owner of a reference: the events of its creation, once."""
    if not install():
        # this process makes no profiles
        none: "Future[Any]" = Future()
        none.set_result([])
        return none
    future = _kept_under(token)

    def forget(_: Any) -> None:
        with _lock:
            _kept.pop(token, None)

    future.add_done_callback(forget)
    return future


take_events._wrapped_async_rpc_function = take_events  # type: ignore[attr-defined]


@contextlib.contextmanager
def unprofiled() -> Iterator[None]:
    """A block whose calls are in no profile."""
    outer, _local.recording = getattr(_local, "recording", None), None
    try:
        yield
    finally:
        _local.recording = outer


def is_field(found: Any) -> bool:
    """Returns whether the received value is the field of a :class:`Call`."""
    return (
        isinstance(found, list)
        and len(found) == 2
        and type(found[0]) is int
        and 0 <= found[0] <= 15
        and isinstance(found[1], str)
        and len(found[1]) <= 32
    )
