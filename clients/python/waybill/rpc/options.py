"""Options of :func:`waybill.rpc.init_rpc`."""

from datetime import timedelta
from typing import Any, Dict, List, Optional

from waybill import timeouts
from waybill.rpc import constants


class RpcBackendOptions:
    """Options of every back end: a timeout and a way to find the home.

    :ivar rpc_timeout: default timeout of calls in seconds; 0 means none
    :ivar init_method: ``waybill:<path of the home>``; otherwise the home is ``$WAYBILL_HOME`` or the user's default
    """

    def __init__(
        self, rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC, init_method: str = constants.DEFAULT_INIT_METHOD
    ) -> None:
        if isinstance(rpc_timeout, timedelta) or not isinstance(rpc_timeout, (int, float)):
            raise TypeError("rpc_timeout: expected a number of seconds, found %s" % type(rpc_timeout).__name__)
        if timeouts.to_ns(rpc_timeout, "rpc_timeout") < 0:
            raise RuntimeError("RPC Timeout must be non-negative")
        self.rpc_timeout = timeouts.to_seconds(rpc_timeout, "rpc_timeout")
        self.init_method = init_method


class WaybillRpcBackendOptions(RpcBackendOptions):
    """Options of a process that reaches the home through a gateway.

    :param num_worker_threads: threads that run requests and callbacks
    :param rpc_timeout: default timeout of calls in seconds; 0 means none
    :param init_method: ``waybill:<path of the home>``, or else ``$WAYBILL_HOME`` or the user's default
    :param device_maps: accepted for programs that were written for PyTorch; tensors of a call lie in host memory
    :param devices: as ``device_maps``
    :param socket: path of the gateway's socket, in the place of a home
    """

    def __init__(
        self,
        *,
        num_worker_threads: int = constants.DEFAULT_NUM_WORKER_THREADS,
        rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str = constants.DEFAULT_INIT_METHOD,
        device_maps: Optional[Dict[str, Dict[Any, Any]]] = None,
        devices: Optional[List[Any]] = None,
        socket: Optional[str] = None,
        _transports: Optional[List[str]] = None,
        _channels: Optional[List[str]] = None,
    ) -> None:
        super().__init__(rpc_timeout, init_method)
        if num_worker_threads < 1:
            raise RuntimeError("num_worker_threads: expected 1 or more, found %d" % num_worker_threads)
        self.num_worker_threads = num_worker_threads
        self.device_maps: Dict[str, Dict[Any, Any]] = {}
        self.devices: List[Any] = list(devices or [])
        self.socket = socket
        for to, device_map in (device_maps or {}).items():
            self.set_device_map(to, device_map)

    def set_device_map(self, to: str, device_map: Dict[Any, Any]) -> None:
        """Adds to the device map for calls to a worker. A device maps to one other device, and no two to the same."""
        known = dict(self.device_maps.get(to, {}))
        reverse: Dict[Any, Any] = {}
        for source, target in ((_device(k), _device(v)) for k, v in device_map.items()):
            if target in reverse:
                raise ValueError(
                    "`device_map` only supports 1-to-1 mapping, trying to map %s and %s to %s"
                    % (source, reverse[target], target)
                )
            if known.get(source, target) != target:
                raise ValueError(
                    "`set_device_map` only supports 1-to-1 mapping, trying to map %s to %s and %s"
                    % (source, target, known[source])
                )
            reverse[target] = source
            known[source] = target
        self.device_maps[to] = known

    def set_devices(self, devices: List[Any]) -> None:
        """Sets the local devices."""
        self.devices = list(devices)


def _device(device: Any) -> Any:
    import torch

    return torch.device(device)


TensorPipeRpcBackendOptions = WaybillRpcBackendOptions
