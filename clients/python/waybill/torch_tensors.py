"""Memory of torch tensors: the only place that knows how versions of torch name it. Imports torch at first use."""

import ctypes
from typing import Any, Dict, List, Sequence, Tuple

from waybill.values import DeviceName, ElementType, refused

# A storage of 8 KiB or more that is at least twice as large as what the tensor shows is not sent whole
_COMPACT_FROM = 8192
_NAMES = (
    (0, "uint8"),
    (1, "int8"),
    (2, "int16"),
    (3, "int32"),
    (4, "int64"),
    (5, "float16"),
    (6, "float32"),
    (7, "float64"),
    (8, "complex32"),
    (9, "complex64"),
    (10, "complex128"),
    (11, "bool"),
    (15, "bfloat16"),
    (21, "bits8"),
    (22, "bits16"),
    (23, "float8_e5m2"),
    (24, "float8_e4m3fn"),
    (25, "float8_e5m2fnuz"),
    (26, "float8_e4m3fnuz"),
    (27, "uint16"),
    (28, "uint32"),
    (29, "uint64"),
    (44, "float8_e8m0fnu"),
)
# what is an int to operators, and has no value of its own
_NUMBERS = {
    "strided": 0,
    "sparse_coo": 1,
    "sparse_csr": 2,
    "contiguous_format": 0,
    "preserve_format": 1,
    "channels_last": 2,
    "channels_last_3d": 3,
}
_codes: Dict[Any, int] = {}
_types: Dict[int, Any] = {}


def _load() -> Any:
    import torch

    if not _codes:
        types = {code: getattr(torch, name) for code, name in _NAMES if hasattr(torch, name)}
        _types.update(types)
        _codes.update({dtype: code for code, dtype in types.items()})  # last, and whole: other threads look at it
    return torch


def travels(tensor: Any) -> bool:
    """Whether a tensor is dense, not quantised and of an element type that the tensor section has."""
    torch = _load()
    return tensor.layout is torch.strided and tensor.dtype in _codes and not tensor.is_quantized


def has(code: int) -> bool:
    """Whether this torch has the element type of a code."""
    _load()
    return code in _types


def code_of(dtype: Any) -> int:
    """libtorch's code of an element type."""
    _load()
    return _codes[dtype]


def value_of(found: Any) -> Any:
    """The value that stands for an element type or a device; TypeError for others that operators take as an int."""
    torch = _load()
    if isinstance(found, torch.device):
        return DeviceName(found.type, -1 if found.index is None else found.index)
    if found in _codes:
        return ElementType(_codes[found])
    if isinstance(found, torch.dtype):
        raise refused(found, "%s means nothing without a quantizer, or has less than a byte" % found)
    number = _NUMBERS.get(str(found).replace("torch.", ""))
    which = "" if number is None else ": pass %d" % number
    raise refused(found, "an operator takes the number of %s%s" % (found, which))


def element_type(value: ElementType) -> Any:
    """The element type of torch that a value stands for; the value if this torch has none."""
    _load()
    return _types.get(value.code, value)


def device(value: DeviceName) -> Any:
    """The device of torch that a value stands for; the value if this torch does not know its type."""
    torch = _load()
    try:
        return torch.device(value.type) if value.number < 0 else torch.device(value.type, value.number)
    except RuntimeError:
        return value


def compact(tensor: Any) -> Any:
    """The tensor to send in place of one: in host memory, and not a small view of a large storage."""
    if tensor.device.type != "cpu":
        raise RuntimeError(
            "RPC backend only supports CPU tensors by default, please move your tensors to CPU before sending them "
            "over RPC, or call `set_device_map` on `TensorPipeRpcBackendOptions` to explicitly configure device "
            "mapping. "
            "Found tensor on device: %s" % tensor.device
        )
    dense = tensor.detach()
    if dense.is_conj() or dense.is_neg():
        dense = dense.resolve_conj().resolve_neg()
    held = _storage(dense).nbytes()
    if held >= _COMPACT_FROM and held >= 2 * dense.element_size() * dense.numel():
        dense = dense.clone()
    return dense


def _storage(tensor: Any) -> Any:
    """The storage of a tensor, as bytes."""
    untyped = getattr(tensor, "untyped_storage", None)
    # of torch 1
    return tensor._storage() if untyped is None else untyped()


def address(tensor: Any) -> Tuple[int, int]:
    """Address and length in bytes of the storage of a tensor."""
    storage = _storage(tensor)
    return storage.data_ptr(), storage.nbytes()


def memory(where: Tuple[int, int]) -> memoryview:
    """The bytes at an address. The caller holds the tensor that owns them."""
    if where[1] == 0:
        return memoryview(b"")
    return memoryview((ctypes.c_ubyte * where[1]).from_address(where[0])).cast("B")


def restore(descriptors: Sequence[Any], storages: Sequence[memoryview], gradients: bool = True) -> List[Any]:
    """Tensors over received storages, without a copy; those of one storage share it.

    Those that need gradients are leaves, or with ``gradients`` false tensors that need none.
    """
    torch = _load()
    held: Dict[int, Any] = {}
    tensors = []
    for tensor in descriptors:
        dtype = _types.get(tensor.dtype)
        if dtype is None:
            raise RuntimeError(
                "tensor: expected an element type of torch %s, found code %d" % (torch.__version__, tensor.dtype)
            )
        storage = held.get(tensor.storage)
        if storage is None:
            storage = held[tensor.storage] = _storage_over(torch, storages[tensor.storage])
        view = torch.empty(0, dtype=dtype).set_(storage, tensor.offset, tensor.sizes, tensor.strides)
        if tensor.flags & 1 and gradients:
            view.requires_grad_()
        tensors.append(view)
    return tensors


def _storage_over(torch: Any, content: memoryview) -> Any:
    flat = torch.frombuffer(content, dtype=torch.uint8) if len(content) else torch.empty(0, dtype=torch.uint8)
    return _storage(flat)
