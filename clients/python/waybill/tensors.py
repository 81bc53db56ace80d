"""Tensors beside a pickle: what the broker's tensor section says of a numpy array or a torch tensor, and back.

Neither numpy nor torch is imported here before a value of theirs is met.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from waybill import torch_tensors
from waybill.errors import MalformedError
from waybill.libraries import loaded
from waybill.values import ElementType, SparseIndex, TensorIndex, refused

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
        kind = array.dtype
        if not kind.isnative:
            array = array.astype(kind.newbyteorder("="))
        flags = array.flags
        if not (flags.c_contiguous or flags.f_contiguous):
            array = array.copy()
            flags = array.flags
        is_rows = flags.c_contiguous
        flat = (array if is_rows else array.T).reshape(-1)
        self.storages.append(memoryview(flat.view("u1")) if array.size else memoryview(b""))
        # numpy's own are anything where there is one element, or none
        strides = _strides(array.shape) if is_rows else _strides(array.shape[::-1])[::-1]
        index = len(self.storages) - 1
        return self._add(Descriptor(CODE_OF_NUMPY[kind.name], 0, array.shape, strides, 0, index), array)

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
    """The tensor as the program sees it: a torch tensor if torch is loaded and has the type, else a numpy array."""
    if has_torch() and (torch_tensors.has(tensor.dtype) or tensor.dtype not in NUMPY_OF_CODE):
        return torch_tensors.restore([tensor], storages)[0]
    return to_numpy(tensor, storages)


def place_native(table: TensorTable, value: Any) -> Any:
    """Appends a torch tensor or numpy array to the message and returns its index; None for other objects.

    numpy's numbers and texts, and the sizes of a tensor, become Python's, equal to them. Element types and devices of
    torch become values, which need no tensor.
    """
    torch = loaded("torch")
    if torch is not None:
        if isinstance(value, torch.Tensor):
            return _place_torch(table, torch, value)
        if type(value) is torch.Size:
            return tuple(value)
        if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
            return torch_tensors.value_of(value)
    numpy = loaded("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.generic):
        return _plain(numpy, value)
    if not isinstance(value, numpy.ndarray):
        return None
    if type(value) is not numpy.ndarray:
        raise refused(value, "what it adds to an array would be lost; pass numpy.asarray(...) of it, or its parts")
    if value.dtype.name not in CODE_OF_NUMPY:
        raise TypeError(
            "numpy array: expected a numeric element type, found %s; pass a view of another type, or its tolist()"
            % value.dtype
        )
    return TensorIndex(table.add_numpy(value))


def _plain(numpy: Any, value: Any) -> Any:
    """The number or text of Python that equals one of numpy."""
    if isinstance(value, (numpy.str_, numpy.bytes_)):
        return str(value) if isinstance(value, numpy.str_) else bytes(value)
    if value.dtype.name not in CODE_OF_NUMPY:
        raise refused(value, "Python has no equal number; pass another type of it, or a str")
    return value.item()


def _place_torch(table: TensorTable, torch: Any, value: Any) -> Any:
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        raise refused(value, "what it adds to a tensor would be lost; pass as_subclass(torch.Tensor) of it")
    if value.layout is torch.sparse_coo:
        indices, values = value._indices(), value._values()
        if value.requires_grad:
            values = values.detach().requires_grad_()
        places = [TensorIndex(table.add_torch(each)).position for each in (indices, values)]
        return SparseIndex(places[0], places[1], bool(value.is_coalesced()), tuple(value.shape))
    if not torch_tensors.travels(value):
        raise TypeError(
            "tensor: expected a dense one, or one in coordinate form, of a numeric type, found %s of %s%s"
            % (value.layout, value.dtype, ", quantized" if value.is_quantized else "")
        )
    return TensorIndex(table.add_torch(value))


def has_torch() -> bool:
    """Returns whether the program has imported torch."""
    return loaded("torch") is not None


def restore_named(value: Any) -> Any:
    """The element type or the device of torch that a value stands for; the value where torch is not imported."""
    if not has_torch():
        return value
    return torch_tensors.element_type(value) if isinstance(value, ElementType) else torch_tensors.device(value)


def restore_torch(descriptors: Sequence[Descriptor], storages: Sequence[memoryview]) -> List[Any]:
    """Tensors of torch."""
    return torch_tensors.restore(descriptors, storages)


def sparse(indices: Any, values: Any, sizes: Tuple[int, ...], coalesced: bool) -> Any:
    """A tensor in coordinate form, which requires a gradient if its values do."""
    torch = loaded("torch")
    needs_gradient = values.requires_grad
    tensor = torch.sparse_coo_tensor(indices, values.detach(), sizes)._coalesced_(coalesced)
    return tensor.requires_grad_() if needs_gradient else tensor


def _strides(sizes: Tuple[int, ...]) -> Tuple[int, ...]:
    """Strides of rows that follow each other, in elements."""
    strides = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))
