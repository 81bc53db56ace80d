"""Optimizers of parameters that several workers own, with the surface of ``torch.distributed.optim``."""

import threading
from typing import Any, Dict, List, Optional

import torch

from waybill import autograd, rpc

# TorchScript compiles on one thread at a time
_compile_lock = threading.Lock()
# steps of several optimizers may be of the same parameters, whose .grad they use
_step_lock = threading.Lock()


class DistributedOptimizer:
    """An optimizer of parameters behind references: each of their owners has one of torch's for its own.

    Optimizers of ``torch.optim`` that have a functional counterpart are compiled by TorchScript at the owners, whose
    steps then don't hold the interpreter's lock. :func:`torch.distributed.optim.utils.register_functional_optim` adds
    others. All the rest run as they are. Any thread may use it; the steps of one owner run one after the other.

    Example::

        with autograd.context() as context_id:
            loss = rpc.rpc_sync("worker1", forward, args=(model, batch)).sum()
            autograd.backward(context_id, [loss])
            DistributedOptimizer(torch.optim.SGD, parameters, lr=0.05).step(context_id)

    :ivar is_functional_optim: whether the owners have compiled ones
    :ivar remote_optimizers: references to those of the owners

    :param optimizer_class: its class, which the owners can import
    :param params_rref: references to the parameters
    :param args: of its constructor, behind the parameters
    :param kwargs: of its constructor
    :raises Exception: what the constructor raised at an owner
    """

    def __init__(self, optimizer_class: Any, params_rref: Any, *args: Any, **kwargs: Any) -> None:
        by_owner: Dict[Any, List[Any]] = {}
        for reference in params_rref:
            by_owner.setdefault(reference.owner(), []).append(reference)
        functional = _functional(optimizer_class)
        self.is_functional_optim = functional is not None
        new, made_of = (_new_optimizer, optimizer_class) if functional is None else (_new_scripted, functional)
        self.remote_optimizers: List[Any] = _wait_for_all(
            [rpc.rpc_async(owner, new, args=(made_of, owned, args, kwargs)) for owner, owned in by_owner.items()]
        )

    def step(self, context_id: int) -> None:
        """Has each owner apply the gradients of a context of distributed autograd; returns when all have done so.

        A parameter that has no gradient in the context stays as it is.

        :raises Exception: what a step raised at an owner, when all steps have ended; others may have been done
        """
        autograd._is_valid_context(context_id)
        _wait_for_all(
            [rpc.rpc_async(each.owner(), _step, args=(each, context_id)) for each in self.remote_optimizers]
        )


def _functional(optimizer_class: Any) -> Optional[Any]:
    """The class that TorchScript compiles in the place of an optimizer; None if there is none."""
    if not torch.jit._state._enabled:
        return None
    try:
        from torch.distributed.optim.utils import functional_optim_map
    except ImportError:
        return None
    return functional_optim_map.get(optimizer_class)


def _wait_for_all(futures: List[Any]) -> List[Any]:
    error = None
    values = []
    for future in futures:
        try:
            values.append(future.wait())
        except Exception as e:
            error = e
    if error is not None:
        raise error
    return values


# At the owners


class _LocalOptimizer:
    """One of torch's optimizers, of parameters of this worker."""

    def __init__(self, parameters: List[Any], optimizer: Any) -> None:
        self._parameters = parameters
        self.optim = optimizer

    def step(self, context_id: int) -> None:
        """Applies the gradients of a context."""
        gradients = autograd.get_gradients(context_id)
        with _step_lock:
            self._apply([gradients.get(parameter) for parameter in self._parameters])

    def _apply(self, gradients: List[Optional[Any]]) -> None:
        for parameter, gradient in zip(self._parameters, gradients):
            parameter.grad = gradient
        self.optim.step()


class _ScriptedOptimizer(_LocalOptimizer):
    """An optimizer that takes gradients and that TorchScript has compiled."""

    def _apply(self, gradients: List[Optional[Any]]) -> None:
        self.optim.step(gradients)


class _Step(torch.nn.Module):
    """Module to compile, because TorchScript compiles an instance of a class only as a part of a module."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__()
        self.optimizer = optimizer

    @torch.jit.export
    def step(self, gradients: List[Optional[torch.Tensor]]) -> None:
        """Passes gradients to the optimizer, one for each parameter."""
        self.optimizer.step(gradients)


def _new_optimizer(made_of: Any, references: List[Any], args: Any, kwargs: Any) -> Any:
    parameters = [reference.local_value() for reference in references]
    return rpc.RRef(_LocalOptimizer(parameters, made_of(parameters, *args, **kwargs)))


def _new_scripted(made_of: Any, references: List[Any], args: Any, kwargs: Any) -> Any:
    parameters = [reference.local_value() for reference in references]
    optimizer = _Step(made_of(parameters, *args, **kwargs))
    with _compile_lock:
        return rpc.RRef(_ScriptedOptimizer(parameters, torch.jit.script(optimizer)))


def _step(optimizer: Any, context_id: int) -> None:
    optimizer.local_value().step(context_id)
