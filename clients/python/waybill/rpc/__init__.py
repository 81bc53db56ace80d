"""Calls between Python processes of one host, with the surface of ``torch.distributed.rpc``.

Example, in each of two processes::

    import operator
    from waybill import rpc

    rpc.init_rpc("worker0", rank=0, world_size=2)          # the other one: "worker1", rank=1
    print(rpc.rpc_sync("worker1", operator.add, args=(2, 3)))
    rpc.shutdown()
"""

import os
from typing import Any, Optional

from waybill.roster import WorkerInfo
from waybill.rpc import api, backend_registry, constants, functions, internal, meeting, options
from waybill.rpc.agent import Agent
from waybill.rpc.api import (
    AllGatherStates,
    _delete_all_user_and_unforked_owner_rrefs,
    _get_current_rpc_agent,
    _get_debug_info,
    _is_current_rpc_agent_set,
    _reset_current_rpc_agent,
    _rref_context_get_debug_info,
    _set_rpc_timeout,
    buffer,
    enable_gil_profiling,
    get_rpc_timeout,
    get_worker_info,
    remote,
    rpc_async,
    rpc_sync,
    shutdown,
)
from waybill.rpc.options import RpcBackendOptions, TensorPipeRpcBackendOptions, WaybillRpcBackendOptions
from waybill.rpc.rref import RRef

# names under which programs written for PyTorch look for them
PyRRef = RRef
RpcAgent = TensorPipeAgent = Agent


def is_available() -> bool:
    """Returns whether this system supports calls: it needs Unix sockets with the peer's credentials."""
    import socket

    return hasattr(socket, "SO_PEERCRED")


def init_rpc(
    name: str,
    backend: Any = None,
    rank: int = -1,
    world_size: Optional[int] = None,
    rpc_backend_options: Optional[RpcBackendOptions] = None,
) -> None:
    """Joins the home as a worker, which serves from now on.

    :param name: of the worker: 1 to 127 of ``A-Z a-z 0-9 - _ :``
    :param backend: a member of ``backend_registry.BackendType``; needed for back ends of the program's own only
    :param rank: number in the group, and the ``id`` of its :class:`WorkerInfo`; ``$RANK`` if absent. Without a rank
        the ``id`` is that of the home
    :param world_size: number of workers of the group, whose ranks are 0, 1, 2 and so on: waits until all have joined.
        Without it (and without ``$WORLD_SIZE``) the process joins alone and may call every worker of the home
    :param rpc_backend_options: timeout, threads, and where the home is
    """
    if backend is not None and not isinstance(backend, backend_registry.BackendType):
        raise TypeError("Argument backend must be a member of BackendType")
    if rpc_backend_options is not None and not isinstance(rpc_backend_options, RpcBackendOptions):
        raise TypeError("Argument rpc_backend_options must be an instance of RpcBackendOptions")
    if backend is None and rpc_backend_options is not None:
        backend = _backend_of(rpc_backend_options)
    if backend is None:
        backend = backend_registry.BackendType["WAYBILL"]
    if rpc_backend_options is None:
        rpc_backend_options = backend_registry.construct_rpc_backend_options(backend)
    if rank < 0:
        rank = int(os.environ.get("RANK", "-1"))
    if world_size is None and "WORLD_SIZE" in os.environ and rank >= 0:
        world_size = int(os.environ["WORLD_SIZE"])
    if world_size and not 0 <= rank < world_size:
        raise ValueError(
            "init_rpc: expected a rank from 0 to %d for a world_size of %d, found %s; give rank, or set RANK"
            % (world_size - 1, world_size, rank if rank >= 0 else "none")
        )
    _init_rpc_backend(backend, None, name, rank, world_size, rpc_backend_options)


def _backend_of(rpc_backend_options: RpcBackendOptions) -> Any:
    for candidate in backend_registry.BackendType:
        if isinstance(rpc_backend_options, type(backend_registry.construct_rpc_backend_options(candidate))):
            return candidate
    raise TypeError("Could not infer backend for options %s" % (rpc_backend_options,))


def _init_rpc_backend(
    backend: Any = None,
    store: Any = None,
    name: Optional[str] = None,
    rank: int = -1,
    world_size: Optional[int] = None,
    rpc_backend_options: Any = None,
) -> None:
    if not isinstance(backend, backend_registry.BackendType):
        raise TypeError("Argument backend must be a member of BackendType")
    if not isinstance(rpc_backend_options, RpcBackendOptions) and backend.name in ("TENSORPIPE", "WAYBILL"):
        raise TypeError("Argument rpc_backend_options must be an instance of RpcBackendOptions")
    if _is_current_rpc_agent_set():
        raise RuntimeError("RPC is already initialized")
    agent = backend_registry.init_backend(
        backend, store=store, name=name, rank=rank, world_size=world_size, rpc_backend_options=rpc_backend_options
    )
    api._init_rpc_states(agent)
    if not isinstance(agent, Agent) or rank < 0:
        return
    try:
        if world_size:
            # none leaves before all have met
            meeting.meet(agent, world_size, api)
        else:
            meeting.claim_rank(agent)
    except BaseException:
        _reset_current_rpc_agent()
        agent.shutdown()
        raise


def __getattr__(name: str) -> Any:
    # the set of back ends grows when a program registers one
    if name == "BackendType":
        return backend_registry.BackendType
    if name == "_server_process_global_profile":
        from waybill.rpc.server_process_global_profiler import _server_process_global_profile

        return _server_process_global_profile
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


__all__ = [
    "Agent",
    "AllGatherStates",
    "RRef",
    "RpcBackendOptions",
    "TensorPipeRpcBackendOptions",
    "WaybillRpcBackendOptions",
    "WorkerInfo",
    "api",
    "backend_registry",
    "buffer",
    "constants",
    "enable_gil_profiling",
    "functions",
    "get_rpc_timeout",
    "get_worker_info",
    "init_rpc",
    "internal",
    "is_available",
    "options",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
    "_delete_all_user_and_unforked_owner_rrefs",
    "_get_current_rpc_agent",
    "_get_debug_info",
    "_rref_context_get_debug_info",
    "_set_rpc_timeout",
]
