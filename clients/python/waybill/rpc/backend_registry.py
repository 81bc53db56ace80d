"""Back ends by name. There is one of Waybill's own; programs may register others."""

import enum
from typing import Any, Callable, Dict, NamedTuple

from waybill.rpc import constants
from waybill.rpc.agent import Agent
from waybill.rpc.options import RpcBackendOptions, WaybillRpcBackendOptions


class BackendValue(NamedTuple):
    """Factories of a back end's options and agent."""

    construct_rpc_backend_options_handler: Callable[..., Any]
    init_backend_handler: Callable[..., Any]


_values: Dict[str, BackendValue] = {}


def _make(values: Dict[str, BackendValue]) -> Any:
    return enum.Enum("BackendType", values)  # type: ignore[misc]


def backend_registered(backend_name: str) -> bool:
    """Returns whether there is a back end of this name."""
    return backend_name in _values


def register_backend(
    backend_name: str,
    construct_rpc_backend_options_handler: Callable[..., Any],
    init_backend_handler: Callable[..., Any],
) -> Any:
    """Adds a back end and returns its member of ``BackendType``."""
    global BackendType
    if backend_registered(backend_name):
        raise RuntimeError("RPC backend {}: already registered".format(backend_name))
    _values[backend_name] = BackendValue(construct_rpc_backend_options_handler, init_backend_handler)
    BackendType = _make(_values)
    return BackendType[backend_name]


def construct_rpc_backend_options(
    backend: Any,
    rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
    init_method: str = constants.DEFAULT_INIT_METHOD,
    **kwargs: Any,
) -> RpcBackendOptions:
    """Options of a back end."""
    return backend.value.construct_rpc_backend_options_handler(
        rpc_timeout=rpc_timeout, init_method=init_method, **kwargs
    )


def init_backend(backend: Any, *args: Any, **kwargs: Any) -> Any:
    """The agent of a back end."""
    return backend.value.init_backend_handler(*args, **kwargs)


def _construct_options(**kwargs: Any) -> WaybillRpcBackendOptions:
    return WaybillRpcBackendOptions(**kwargs)


def _init_agent(store: Any, name: str, rank: int, world_size: Any, rpc_backend_options: Any) -> Agent:
    if not isinstance(rpc_backend_options, WaybillRpcBackendOptions):
        raise TypeError("`rpc_backend_options` must be a `TensorPipeRpcBackendOptions`. {}".format(rpc_backend_options))
    return Agent(name, rank, world_size, rpc_backend_options)


BackendType: Any = None
# the name that programs written for PyTorch give
register_backend("TENSORPIPE", _construct_options, _init_agent)
register_backend("WAYBILL", _construct_options, _init_agent)
