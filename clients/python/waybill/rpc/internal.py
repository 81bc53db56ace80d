"""Parts of calls: execution modes, the pickler, and the profiler's keys of calls."""

from enum import Enum
from typing import Any, List, NamedTuple, Optional, Tuple

from waybill import pickling, profiling, python_calls
from waybill.frames import Message
from waybill.libraries import loaded
from waybill.python_calls import RemoteException  # noqa: F401
from waybill.roster import WorkerInfo
from waybill.rpc import state
from waybill.tensors import Descriptor, TensorTable


class RPCExecMode(Enum):
    """Mode of a function's execution."""

    SYNC = "sync"
    ASYNC = "async"
    ASYNC_JIT = "async_jit"
    REMOTE = "remote"


class PythonUDF(NamedTuple):
    """A function and its arguments."""

    func: Any
    args: Any
    kwargs: Any


class RpcPickler:
    """Pickles an object with its tensors beside it, as calls do. Programs may put an object like it in its place."""

    def serialize(self, obj: Any) -> Tuple[bytes, List[Any]]:
        """A pickle, and what lies beside it."""
        packed = pickling.pack(obj)
        return packed.payload, [packed]

    def _register_reducer(self, obj_class: Any, reducer: Any) -> None:
        """For :mod:`torch.distributed.nn`, which says so how its remote modules are pickled."""
        pickling.register(obj_class, reducer)

    def deserialize(self, binary_data: bytes, tensor_table: List[Any]) -> Any:
        """The object of a pickle of :meth:`serialize`."""
        packed = tensor_table[0]
        if isinstance(packed, Kept):
            return pickling.unpack(binary_data, Message(b"", packed.descriptors, packed.views()), packed.buffers)
        table: TensorTable = packed.table
        return pickling.unpack(binary_data, Message(b"", table.descriptors, table.storages), packed.buffers)


class Kept(NamedTuple):
    """Tensors beside a pickle that is part of another pickle: their bytes are copied into it."""

    descriptors: List[Descriptor]
    storages: List[bytearray]
    buffers: int

    def views(self) -> List[memoryview]:
        """The storages, writable."""
        return [memoryview(storage) for storage in self.storages]


def _reduce_packed(packed: pickling.Packed) -> Any:
    if packed.references:
        raise RuntimeError("Can not pickle rref in python pickler, rref can only be pickled when using RPC")
    return Kept, (packed.table.descriptors, [bytearray(s) for s in packed.table.storages], packed.buffers)


pickling.register(pickling.Packed, _reduce_packed)
_internal_rpc_pickler = RpcPickler()


def serialize(obj: Any) -> Tuple[bytes, List[Any]]:
    """A pickle of the object, and what lies beside it."""
    return _internal_rpc_pickler.serialize(obj)


def deserialize(binary_data: bytes, tensor_table: List[Any]) -> Any:
    """The object of a pickle of :func:`serialize`."""
    return _internal_rpc_pickler.deserialize(binary_data, tensor_table)


def _build_rpc_profiling_key(
    exec_type: RPCExecMode, func_name: str, current_worker_name: str, dst_worker_name: str
) -> str:
    """The name under which a profile shows a call."""
    return "rpc_%s#%s(%s -> %s)" % (exec_type.value, func_name, current_worker_name, dst_worker_name)


def profile_of(mode: RPCExecMode, to: WorkerInfo, function: Any) -> Optional[profiling.Call]:
    """A call in the profile of this thread; None without one. Only PyTorch's legacy profiler knows calls."""
    torch = loaded("torch")
    if torch is None or not profiling.install() or not torch.autograd._profiler_enabled():
        return None
    kind = getattr(torch._C._autograd, "_profiler_type", None)
    if kind is None or kind() != torch._C._profiler.ActiveProfilerType.LEGACY:
        return None
    own = state.current_agent().worker.info
    key = _build_rpc_profiling_key(mode, shown_name(function), own.name, to.name)
    return profiling.begin(key, own.id, mode == RPCExecMode.REMOTE)


def shown_name(function: Any) -> str:
    """The name of a function in a profile."""
    torch = loaded("torch")
    if torch is not None:
        builtin = torch.jit._builtins._find_builtin(function)
        if builtin is not None:
            return builtin
        if isinstance(function, torch.jit.ScriptFunction):
            return torch._jit_internal._qualified_name(function)
    return getattr(function, "__qualname__", None) or python_calls.function_name(function).partition(":")[2]
