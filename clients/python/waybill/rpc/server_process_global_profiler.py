"""Profiles of all requests that a process serves. Needs torch."""

import itertools
from typing import Any, List

from torch.autograd.profiler_legacy import profile
from torch.autograd.profiler_util import EventList

from waybill import profiling


class _server_process_global_profile(profile):
    """A profile of the requests that this process serves on any thread, between its start and its end.

    It has the surface of ``torch.autograd.profiler_legacy.profile``. Other processes use it through a reference::

        whole = rpc.remote("worker1", rpc._server_process_global_profile)
        whole.rpc_sync().__enter__()
        rpc.rpc_sync("worker1", torch.add, args=(1, 2))
        whole.rpc_sync().__exit__(None, None, None)
        print(whole.rpc_sync().key_averages())

    :ivar process_global_function_events: the events of each request
    """

    def __enter__(self) -> Any:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("autograd profiler traces are not reentrant")
        self.entered = True
        self.process_global_function_events: List[List[Any]] = []
        profiling.process_wide.append(self)
        return self

    def add(self, events: List[Any]) -> None:
        """Takes the events of a request."""
        self.process_global_function_events.append(events)

    def __exit__(self, *_: Any) -> bool:
        if self.enabled:
            profiling.process_wide.remove(self)
            flat = list(itertools.chain(*self.process_global_function_events))
            self.function_events = EventList(flat, profile_memory=self.profile_memory)
            self.function_events._build_tree()
        return False
