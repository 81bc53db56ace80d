"""Pickles of calls and results: tensors and large buffers travel beside the pickle, in the message's tensor section."""

import builtins
import copyreg
import importlib
import io
import marshal
import pickle
import sys
import threading
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from waybill import tensors as tensor_section
from waybill import torch_tensors
from waybill.errors import CodeRefused
from waybill.frames import Message, Reference
from waybill.libraries import loaded
from waybill.tensors import TensorTable

# Buffers below this stay in the pickle: an entry of the tensor section costs more than their copy
MIN_BUFFER = 4096
UNKNOWN_FUNCTION = (
    " Default RPC pickler does not serialize function code. Ensure that UDFs are defined on both caller and callee "
    "modules."
)
CODE_REFUSED = "expected a call that only names functions; set by.value = true in io.waybill.python.cfg to allow code"
# packages that pickle functions by value
_CODE_PICKLERS = frozenset(("cloudpickle", "dill", "_dill"))

_local = threading.local()
_reducers: Dict[type, Callable[[Any], Any]] = {}
_reducers_lock = threading.Lock()
# that have reducers, and those of them that have been imported
_LIBRARIES = ("numpy", "torch")
_registered: Set[str] = set()


class Packed(NamedTuple):
    """A pickled object: the pickle, its tensors, and how many of them, at the end, are buffers of the pickle."""

    payload: bytes
    table: TensorTable
    buffers: int
    references: Sequence[Reference] = ()


class _Sent:
    """Tensors and references of one message while it is pickled."""

    __slots__ = ("table", "references")

    def __init__(self) -> None:
        # None until there is a tensor
        self.table: Optional[TensorTable] = None
        self.references: List[Reference] = []

    def tensors(self) -> TensorTable:
        if self.table is None:
            self.table = TensorTable()
        return self.table


# of a message without tensors; nothing is added to it
_NO_TENSORS = TensorTable()


def register(cls: type, reducer: Callable[[Any], Any]) -> None:
    """Has objects of exactly this class pickled by a reducer of their own inside calls."""
    with _reducers_lock:
        _reducers[cls] = reducer


def pack(obj: Any) -> Packed:
    """Pickles an object with its tensors beside it."""
    if len(_registered) < len(_LIBRARIES):
        _register_libraries()
    sent = _Sent()
    views: List[memoryview] = []

    def buffer(found: pickle.PickleBuffer) -> bool:
        view = found.raw()
        if len(view) < MIN_BUFFER:
            return True
        views.append(view)
        return False

    out = io.BytesIO()
    pickler = pickle.Pickler(out, 5, buffer_callback=buffer)
    pickler.dispatch_table = _dispatch_table()
    outer = getattr(_local, "sent", None)
    _local.sent = sent
    try:
        pickler.dump(obj)
    finally:
        _local.sent = outer
    for view in views:
        sent.tensors().add_buffer(view, view)
    return Packed(out.getvalue(), sent.table or _NO_TENSORS, len(views), sent.references)


def unpack(payload: Any, received: Message, buffers: int = 0, autograd: Any = None, by_value: bool = True) -> Any:
    """Restores an object with the tensors and references of its message, and what autograd says of it.

    :param by_value: whether the pickle may contain code; otherwise :class:`CodeRefused` is raised for one that does
    """
    views: Sequence[memoryview] = ()
    restored = _NOTHING
    _, descriptors, storages, references = received
    if descriptors or references:
        first = len(descriptors) - buffers
        views = [storages[d.storage][d.offset : d.offset + d.sizes[0]] for d in descriptors[first:]]
        restored = _Restored(received, first, autograd)
    outer = getattr(_local, "received", None)
    _local.received = restored
    try:
        if by_value:
            return pickle.loads(payload, buffers=views)
        return _ByName(io.BytesIO(payload), buffers=views).load()
    finally:
        _local.received = outer


class _ByName(pickle.Unpickler):
    """Restores what a pickle without code contains: functions and classes are found by their names.

    Keeps the code of common picklers out, so that all that runs is what the operator installed. It is no sandbox: a
    caller may name any function that can be imported.
    """

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        _refuse_code(found, module, name)
        return found


class _Restored:
    """Tensors of one message while it is unpickled; those of torch are made together so that they share storages."""

    def __init__(self, received: Message, count: int, autograd: Any) -> None:
        self._received = received
        self._count = count
        self._autograd = autograd
        self._torch: List[Any] = []
        # all of them, also those that the pickle never names: each one is dropped when its object is gone
        self._references = [_reference(reference) for reference in received.references]

    def torch(self, index: int) -> Any:
        if not self._torch:
            self._torch = self._restore()
        return self._torch[index]

    def _restore(self) -> List[Any]:
        descriptors = self._received.descriptors[: self._count]
        recorded = self._autograd is not None
        restored = torch_tensors.restore(descriptors, self._received.storages, not recorded)
        if recorded:
            from waybill import autograd

            places = [i for i, descriptor in enumerate(descriptors) if descriptor.flags & tensor_section.REQUIRES_GRAD]
            for place, tensor in zip(places, autograd.received(self._autograd, [restored[i] for i in places])):
                restored[place] = tensor
        return restored

    def numpy(self, index: int) -> Any:
        return tensor_section.to_numpy(self._received.descriptors[index], self._received.storages)

    def reference(self, index: int) -> Any:
        return self._references[index]


# of a message without tensors and references
_NOTHING = _Restored(Message(), 0, None)


def _reference(reference: Reference) -> Any:
    if make_reference is None:
        raise RuntimeError("remote reference: expected a process that is connected to a gateway")
    return make_reference(reference)


def restore_reference(index: int) -> Any:
    """A remote reference of the message that is being unpickled."""
    return _local.received.reference(index)


def send_reference(reference: Reference) -> Tuple[Any, Tuple[int]]:
    """Adds a remote reference to the message that is being pickled; returns its reduced form."""
    sent = getattr(_local, "sent", None)
    if sent is None:
        raise RuntimeError("Can not pickle rref in python pickler, rref can only be pickled when using RPC")
    sent.references.append(reference)
    return restore_reference, (len(sent.references) - 1,)


# set by the worker: the object for a received reference
make_reference: Optional[Callable[[Reference], Any]] = None


def restore_torch(index: int) -> Any:
    """A dense tensor of the message that is being unpickled."""
    return _local.received.torch(index)


def restore_numpy(index: int) -> Any:
    """A numpy array of the message that is being unpickled."""
    return _local.received.numpy(index)


def restore_sparse(indices: Any, values: Any, sizes: Tuple[int, ...], coalesced: bool, requires_grad: bool) -> Any:
    """A tensor in coordinate form."""
    torch = sys.modules["torch"]
    tensor = torch.sparse_coo_tensor(indices, values, sizes)
    tensor = tensor._coalesced_(coalesced)
    return tensor.requires_grad_() if requires_grad else tensor


def restore_function(module: str, name: str) -> Any:
    """An object by the name of its module and its qualified name."""
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def named_function(name: str, by_value: bool) -> Any:
    """The function that ``module:qualname`` names. Raises ImportError or AttributeError if there is none."""
    module, _, qualname = name.partition(":")
    if not module or not qualname:
        raise AttributeError("function %s: expected module:name" % name)
    found = restore_function(module, qualname)
    if not callable(found):
        raise AttributeError("%s: expected a function, found %s" % (name, type(found).__name__))
    if not by_value:
        _refuse_code(found, module, qualname)
    return found


def restore_script_module(content: bytes) -> Any:
    """A scripted module."""
    torch = sys.modules["torch"]
    return torch.jit.load(io.BytesIO(content))


# what makes code from data
_MAKE_CODE: Tuple[Any, ...] = (
    builtins.eval,
    builtins.exec,
    builtins.compile,
    builtins.__import__,
    types.CodeType,
    types.FunctionType,
    marshal.load,
    marshal.loads,
    pickle.load,
    pickle.loads,
    pickle.Unpickler,
    restore_script_module,
)


def _refuse_code(found: Any, module: str, name: str) -> None:
    home = getattr(found, "__module__", None)
    if any(found is maker for maker in _MAKE_CODE) or str(home).partition(".")[0] in _CODE_PICKLERS:
        raise CodeRefused("%s.%s makes code: %s" % (module, name, CODE_REFUSED))


def _dispatch_table() -> Dict[type, Any]:
    custom = copyreg.dispatch_table
    if custom:
        return {**custom, **_reducers}
    return _reducers


def _register_libraries() -> None:
    """Adds the reducers of these libraries once the program has imported them."""
    if "numpy" not in _registered:
        numpy = loaded("numpy")
        if numpy is not None:
            _registered.add("numpy")
            register(numpy.ndarray, _reduce_numpy)
    if "torch" not in _registered:
        torch = loaded("torch")
        if torch is not None:
            _registered.add("torch")
            register(torch.Tensor, _reduce_torch)
            register(torch.jit.RecursiveScriptModule, _reduce_script_module)
            register(torch.jit.ScriptFunction, _reduce_script_function)


def _reduce_numpy(array: Any) -> Any:
    if array.dtype.name not in tensor_section.CODE_OF_NUMPY or not array.dtype.isnative or array.nbytes < MIN_BUFFER:
        return array.__reduce_ex__(5)
    return restore_numpy, (_local.sent.tensors().add_numpy(array),)


def _reduce_torch(tensor: Any) -> Any:
    torch = sys.modules["torch"]
    if tensor.layout is torch.sparse_coo:
        indices, values = tensor._indices(), tensor._values()
        return restore_sparse, (
            indices,
            values.detach(),
            tuple(tensor.shape),
            tensor.is_coalesced(),
            tensor.requires_grad,
        )
    if not torch_tensors.travels(tensor):
        return tensor.__reduce_ex__(5)
    return restore_torch, (_local.sent.tensors().add_torch(tensor),)


def _reduce_script_module(module: Any) -> Any:
    out = io.BytesIO()
    sys.modules["torch"].jit.save(module, out)
    return restore_script_module, (out.getvalue(),)


def _reduce_script_function(function: Any) -> Any:
    module, _, name = function.qualified_name.rpartition(".")
    return restore_function, (module.replace("__torch__.", "", 1), name)
