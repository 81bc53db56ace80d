"""Tensors beside a pickle: what the broker's tensor section says of a numpy array or a torch tensor, and back.

Neither numpy nor torch is imported here before a value of theirs is met.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from waybill import torch_tensors
from waybill.errors import MalformedError
from waybill.libraries import loaded
from waybill.values import TensorIndex

MAX_DIMENSIONS = 64
UINT8 = 0
REQUIRES_GRAD = 1

# libtorch's code, numpy's name, bytes; types that numpy lacks have no name
ELEMENT_TYPES: Tuple[Tuple[int, Optional[str], int], ...] = (
    (0, "uint8", 1),
    (1, "int8", 1),
    (2, "int16", 2),
    (3, "int32", 4),
    (4, "int64", 8),
    (5, "float16", 2),
    (6, "float32", 4),
    (7, "float64", 8),
    (8, None, 4),
    (9, "complex64", 8),
    (10, "complex128", 16),
    (11, "bool", 1),
    (15, None, 2),
    (21, None, 1),
    (22, None, 2),
    (23, None, 1),
    (24, None, 1),
    (25, None, 1),
    (26, None, 1),
    (27, "uint16", 2),
    (28, "uint32", 4),
    (29, "uint64", 8),
    (44, None, 1),
)
CODE_OF_NUMPY: Dict[str, int] = {name: code for code, name, _ in ELEMENT_TYPES if name}
NUMPY_OF_CODE: Dict[int, str] = {code: name for code, name, _ in ELEMENT_TYPES if name}
SIZE_OF_CODE: Dict[int, int] = {code: size for code, _, size in ELEMENT_TYPES}


class Descriptor(NamedTuple):
    """A tensor of a message: its element type, shape, and where its elements lie in which storage."""

    dtype: int
    flags: int
    sizes: Tuple[int, ...]
    strides: Tuple[int, ...]
    offset: int
    storage: int


class TensorTable:
    """Tensors and storages of one message in the making. Tensors that share a storage travel as one storage."""

    __slots__ = ("descriptors", "storages", "sources", "gradients", "_storage_of")

    def __init__(self) -> None:
        self.descriptors: List[Descriptor] = []
        self.storages: List[memoryview] = []
        # the objects whose memory the storages are: they live until the message is sent
        self.sources: List[Any] = []
        # tensors that need gradients, in the order of their descriptors
        self.gradients: List[Any] = []
        self._storage_of: Dict[Tuple[int, int], int] = {}

    def add_torch(self, tensor: Any) -> int:
        """Appends a dense torch tensor in host memory and returns its index."""
        dense = torch_tensors.compact(tensor)
        storage = self._add_storage(torch_tensors.address(dense), dense)
        flags = 0
        if tensor.requires_grad:
            flags = REQUIRES_GRAD
            self.gradients.append(tensor)
        code = torch_tensors.code_of(dense.dtype)
        return self._add(
            Descriptor(code, flags, tuple(dense.shape), tuple(dense.stride()), dense.storage_offset(), storage), tensor
        )

    def add_numpy(self, array: Any) -> int:
        """Appends a numpy array of a numeric type and returns its index."""
        item = array.itemsize
        flags = array.flags
        if not (flags.c_contiguous or flags.f_contiguous):
            array = array.copy()
            flags = array.flags
        flat = array if flags.c_contiguous else array.T
        self.storages.append(memoryview(flat.reshape(-1)).cast("B") if array.size else memoryview(b""))
        strides = tuple(stride // item for stride in array.strides)
        index = len(self.storages) - 1
        return self._add(Descriptor(CODE_OF_NUMPY[array.dtype.name], 0, array.shape, strides, 0, index), array)

    def add_buffer(self, content: memoryview, source: Any) -> int:
        """Appends bytes as a tensor of one dimension and returns its index."""
        self.storages.append(content)
        return self._add(Descriptor(UINT8, 0, (len(content),), (1,), 0, len(self.storages) - 1), source)

    def _add_storage(self, where: Tuple[int, int], source: Any) -> int:
        known = self._storage_of.get(where)
        if known is None or where[1] == 0:
            known = len(self.storages)
            self._storage_of[where] = known
            self.storages.append(torch_tensors.memory(where))
            self.sources.append(source)
        return known

    def _add(self, descriptor: Descriptor, source: Any) -> int:
        self.descriptors.append(descriptor)
        self.sources.append(source)
        return len(self.descriptors) - 1


def check(descriptors: Sequence[Descriptor], storages: Sequence[memoryview]) -> None:
    """Raises :class:`MalformedError` unless every element of every tensor lies in its storage."""
    for number, tensor in enumerate(descriptors):
        size = SIZE_OF_CODE.get(tensor.dtype)
        if size is None:
            raise MalformedError("tensor %d: expected a known element type, found %d" % (number, tensor.dtype))
        if len(tensor.sizes) > MAX_DIMENSIONS or len(tensor.sizes) != len(tensor.strides):
            raise MalformedError(
                "tensor %d: expected at most %d dimensions, found %d" % (number, MAX_DIMENSIONS, len(tensor.sizes))
            )
        if not 0 <= tensor.storage < len(storages):
            raise MalformedError(
                "tensor %d: expected a storage below %d, found %d" % (number, len(storages), tensor.storage)
            )
        first = last = tensor.offset
        empty = False
        for length, stride in zip(tensor.sizes, tensor.strides):
            if length < 0:
                raise MalformedError("tensor %d: expected a size of 0 or more, found %d" % (number, length))
            empty = empty or length == 0
            reach = (length - 1) * stride
            first += min(reach, 0)
            last += max(reach, 0)
        limit = len(storages[tensor.storage])
        if tensor.offset < 0 or not empty and (first < 0 or (last + 1) * size > limit):
            raise MalformedError(
                "tensor %d: expected its elements in a storage of %d bytes, found bytes %d to %d"
                % (number, limit, first * size, (last + 1) * size)
            )


def to_numpy(tensor: Descriptor, storages: Sequence[memoryview]) -> Any:
    """The tensor as a numpy array over its storage, without a copy."""
    import numpy

    name = NUMPY_OF_CODE.get(tensor.dtype)
    if name is None:
        raise MalformedError("tensor: expected an element type of numpy, found libtorch's code %d" % tensor.dtype)
    item = SIZE_OF_CODE[tensor.dtype]
    if 0 in tensor.sizes:
        return numpy.empty(tensor.sizes, name)
    strides = [stride * item for stride in tensor.strides]
    return numpy.ndarray(tensor.sizes, name, storages[tensor.storage], tensor.offset * item, strides)


def to_native(tensor: Descriptor, storages: Sequence[memoryview]) -> Any:
    """The tensor as the program sees it: a torch tensor if torch is loaded, else a numpy array."""
    if loaded("torch") is not None:
        return torch_tensors.restore([tensor], storages)[0]
    return to_numpy(tensor, storages)


def place_native(table: TensorTable, value: Any) -> Any:
    """Appends a torch tensor or numpy array to the message and returns its index; None for other objects."""
    torch = loaded("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return TensorIndex(table.add_torch(value))
    numpy = loaded("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.generic):
        return value.item()
    if not isinstance(value, numpy.ndarray):
        return None
    if value.dtype.name not in CODE_OF_NUMPY:
        raise TypeError("numpy array: expected a numeric element type, found %s" % value.dtype)
    return TensorIndex(table.add_numpy(value))
