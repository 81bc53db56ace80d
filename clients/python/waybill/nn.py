"""Modules that live on another worker, with the surface of ``torch.distributed.nn``."""

from typing import Any, Dict, List, NoReturn, Optional, Sequence, Tuple

import torch
from torch.distributed import _remote_device

from waybill import pickling, rpc

# of nn.Module: what they would change or show is on the other worker
_REFUSED = (
    "register_buffer register_parameter add_module apply cuda ipu xpu cpu type float double half bfloat16 to "
    "register_backward_hook register_forward_pre_hook register_forward_hook state_dict load_state_dict "
    "named_parameters buffers named_buffers children named_children modules named_modules requires_grad_ zero_grad "
    "share_memory extra_repr"
).split()


class RemoteModule(torch.nn.Module):
    """A module of torch whose parameters are on another worker, where ``forward`` runs.

    Inside a context of distributed autograd, gradients go through it. It may be sent to other workers in calls; the
    module stays where it is. Methods of ``nn.Module`` that would act on parameters raise ValueError.

    Inputs of a module on another device than the CPU are moved to it; what it returns is moved to the CPU, and sent.

    Example::

        linear = RemoteModule("worker1/cpu", torch.nn.Linear, args=(20, 30))
        output = linear(torch.randn(128, 20))

    :ivar on: name or rank of the worker
    :ivar device: of the module
    :ivar module_rref: reference to the module

    :param remote_device: ``<worker>/<device>`` or ``rank:<rank>/<device>``, or either without a device, which means the
        CPU; a device alone is one of this worker
    :param module_cls: the class of the module, or a function that makes one, which the worker can import. What it
        raises is raised where the module is used
    :param args: of its constructor
    :param kwargs: of its constructor
    """

    def __init__(
        self,
        remote_device: str,
        module_cls: Any,
        args: Optional[Sequence[Any]] = None,
        kwargs: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__()
        self._refer(*_place(remote_device, rpc.get_worker_info().name), None)
        made_of = (module_cls, tuple(args or ()), dict(kwargs or {}), self.device)
        self.module_rref = rpc.remote(self.on, _create, args=made_of)

    def _refer(self, on: Any, device: str, module_rref: Any) -> None:
        self.on = on
        self.device = device
        # tensors of a call lie in host memory
        self.is_device_map_set = False
        self.is_scriptable = False
        self.module_rref = module_rref

    @staticmethod
    def init_from_module_rref(
        remote_device: str, module_rref: Any, _module_interface_cls: Any = None
    ) -> "RemoteModule":
        """Another remote module for a module that is already there."""
        if _module_interface_cls is not None:
            raise NotImplementedError(
                "RemoteModule: expected no interface of TorchScript, found %s; TorchScript's own references are "
                "compiled into torch, and know torch.distributed.rpc only. Call forward from Python"
                % getattr(_module_interface_cls, "__name__", _module_interface_cls)
            )
        return _receive(*_place(remote_device, module_rref.owner_name()), module_rref)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module's forward on its worker and returns what it returns."""
        return rpc.rpc_sync(self.module_rref.owner(), _forward, args=(self.module_rref, self.device, args, kwargs))

    def forward_async(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module's forward on its worker; returns a future of what it returns."""
        return rpc.rpc_async(self.module_rref.owner(), _forward, args=(self.module_rref, self.device, args, kwargs))

    def remote_parameters(self, recurse: bool = True) -> List[Any]:
        """References to the module's parameters, such as for a :class:`waybill.optim.DistributedOptimizer`.

        :param recurse: also those of the modules in it
        """
        found: List[Any] = rpc.rpc_sync(self.module_rref.owner(), _parameters, args=(self.module_rref, recurse))
        return found

    def get_module_rref(self) -> Any:
        """The reference to the module."""
        return self.module_rref

    def train(self, mode: bool = True) -> "RemoteModule":
        """Sets the module, on its worker, to training or to evaluation."""
        rpc.rpc_sync(self.module_rref.owner(), _train, args=(self.module_rref, mode))
        self.training = mode
        return self

    def parameters(self, recurse: bool = True) -> NoReturn:
        """Refused: the parameters are on another worker."""
        raise ValueError(
            "Method ``parameters`` not supported for RemoteModule. Please use ``remote_parameters`` instead."
        )

    def __getstate__(self) -> NoReturn:
        raise RuntimeError(
            "Cannot pickle RemoteModule in python pickler. RemoteModule can only be pickled when using RPC"
        )

    def __setstate__(self, state: Any) -> NoReturn:
        raise RuntimeError(
            "Cannot unpickle RemoteModule in python pickler. RemoteModule can only be unpickled when using RPC"
        )

    def __repr__(self) -> str:
        return "RemoteModule(%s/%s)" % (self.on, self.device)


def _place(remote_device: str, default: str) -> Tuple[Any, str]:
    """Name or rank of the worker that a text names, else the default, and the device there."""
    place = _remote_device(remote_device)
    on = place.rank() if place.worker_name() is None else place.worker_name()
    return default if on is None else on, str(place.device())


def _refused(name: str) -> Any:
    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        raise ValueError("Method ``%s`` not supported for RemoteModule" % name)

    return refuse


for _name in _REFUSED:
    setattr(RemoteModule, _name, _refused(_name))


def _reduce(module: RemoteModule) -> Any:
    return _receive, (module.on, module.device, module.module_rref)


pickling.register(RemoteModule, _reduce)


def _receive(on: Any, device: str, module_rref: Any) -> RemoteModule:
    received = RemoteModule.__new__(RemoteModule)
    torch.nn.Module.__init__(received)
    received._refer(on, device, module_rref)
    return received


# On the module's worker


def _create(module_cls: Any, args: Any, kwargs: Any, device: str) -> Any:
    module = module_cls(*args, **kwargs)
    if not isinstance(module, torch.nn.Module):
        raise ValueError(
            "Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, but it returns an instance "
            "of %s." % type(module)
        )
    return module.to(device)


def _forward(module_rref: Any, device: str, args: Any, kwargs: Any) -> Any:
    module = module_rref.local_value()
    if torch.device(device).type == "cpu":
        return module(*args, **kwargs)
    return _moved(module(*_moved(args, device), **_moved(kwargs, device)), "cpu")


def _moved(value: Any, device: str) -> Any:
    """The value with the tensors in it, and in its lists, tuples and dicts, on a device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if type(value) in (list, tuple):
        return type(value)([_moved(each, device) for each in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_moved(each, device) for each in value])
    if type(value) is dict:
        return {key: _moved(each, device) for key, each in value.items()}
    return value


def _parameters(module_rref: Any, recurse: bool) -> List[Any]:
    return [rpc.RRef(parameter) for parameter in module_rref.local_value().parameters(recurse)]


def _train(module_rref: Any, mode: bool) -> None:
    module_rref.local_value().train(mode)
