"""Values and calls by name in the broker's own encoding, for handlers of every language (docs/reference/values.md)."""

import struct
from typing import Any, Callable, Dict, NamedTuple, Tuple, Union

from waybill.errors import MalformedError

MAX_DEPTH = 32
_NONE, _FALSE, _TRUE, _INT, _FLOAT, _COMPLEX, _STRING, _BYTES, _TENSOR, _LIST, _TUPLE, _DICT, _DEVICE, _DTYPE = range(
    14
)
_SPARSE, _REFERENCE = 14, 15
_CONSTANTS = (None, False, True)
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I64 = struct.Struct("<q")
_F64 = struct.Struct("<d")
_C128 = struct.Struct("<dd")


class TensorIndex(NamedTuple):
    """A tensor, by its position in the message's list of tensors."""

    position: int


class ReferenceIndex(NamedTuple):
    """A remote reference, by its position in the message's list of references."""

    position: int


class SparseIndex(NamedTuple):
    """A tensor in coordinate form, by the positions of its indices and values in the message's list of tensors."""

    indices: int
    values: int
    coalesced: bool
    sizes: Tuple[int, ...]


class DeviceName(NamedTuple):
    """A device; number -1 means any."""

    type: str
    number: int


class ElementType(NamedTuple):
    """An element type, by libtorch's code."""

    code: int


Place = Callable[[Any], Any]


class Invocation(NamedTuple):
    """A call of an operation by name."""

    name: str
    positional: Tuple[Any, ...] = ()
    named: Dict[str, Any] = {}
    is_async: bool = False


def _refuse(value: Any) -> Any:
    raise TypeError(
        "value: expected None, bool, int, float, complex, str, bytes, list, tuple, dict, a numpy array, a tensor or a "
        "remote reference, found %s" % type(value).__name__
    )


def encode_value(value: Any, place: Place = _refuse) -> bytes:
    """Encodes a value. ``place`` adds a tensor or reference to the message and returns the index that stands for it."""
    out = bytearray()
    write_value(out, value, place)
    return bytes(out)


def decode_value(payload: Union[bytes, bytearray, memoryview]) -> Any:
    """Decodes one value that fills the payload; raises :class:`MalformedError` otherwise."""
    reader = _Reader(payload)
    value = reader.value(0)
    reader.end()
    return value


def encode_invocation(call: Invocation, place: Place = _refuse) -> bytes:
    """Encodes a call by name."""
    name = call.name.encode("utf-8")
    if not 1 <= len(name) <= 256:
        raise ValueError("name of an operation: expected 1 to 256 bytes, found %d" % len(name))
    out = bytearray(_U16.pack(len(name) | (0x8000 if call.is_async else 0)))
    out += name
    out += _U32.pack(len(call.positional))
    for value in call.positional:
        write_value(out, value, place)
    out += _U32.pack(len(call.named))
    for key, value in call.named.items():
        write_value(out, key, place)
        write_value(out, value, place)
    return bytes(out)


def decode_invocation(payload: Union[bytes, bytearray, memoryview]) -> Invocation:
    """Decodes a call by name; raises :class:`MalformedError` if the payload is none."""
    reader = _Reader(payload)
    head = _U16.unpack(reader.take(2))[0]
    name = reader.text(head & 0x7FFF)
    positional = tuple(reader.value(0) for _ in range(reader.count()))
    named: Dict[str, Any] = {}
    for _ in range(reader.count(2)):
        key = reader.value(0)
        if not isinstance(key, str) or key in named:
            raise MalformedError("call %s: expected distinct strings as names, at offset %d" % (name, reader.at))
        named[key] = reader.value(0)
    reader.end()
    return Invocation(name, positional, named, bool(head & 0x8000))


def write_value(out: bytearray, value: Any, place: Place, depth: int = 0) -> None:
    """Appends one value."""
    kind = type(value)
    if depth > MAX_DEPTH:
        raise ValueError("value: expected at most %d levels of lists, tuples and dicts" % MAX_DEPTH)
    if kind is str:
        _write_bytes(out, _STRING, value.encode("utf-8"))
    elif kind is bytes:
        _write_bytes(out, _BYTES, value)
    elif value is None:
        out.append(_NONE)
    elif kind is bool:
        out.append(_TRUE if value else _FALSE)
    elif kind is TensorIndex:
        out += b"\x08" + _U32.pack(value[0])
    elif kind is ReferenceIndex:
        out += b"\x0f" + _U32.pack(value[0])
    elif isinstance(value, int):
        out.append(_INT)
        out += _I64.pack(value)
    elif isinstance(value, float):
        out.append(_FLOAT)
        out += _F64.pack(value)
    elif isinstance(value, complex):
        out.append(_COMPLEX)
        out += _C128.pack(value.real, value.imag)
    elif isinstance(value, str):
        _write_bytes(out, _STRING, value.encode("utf-8"))
    elif isinstance(value, (bytearray, memoryview)):
        _write_bytes(out, _BYTES, bytes(value))
    elif isinstance(value, (list, tuple)):
        out.append(_LIST if isinstance(value, list) else _TUPLE)
        out += _U32.pack(len(value))
        for element in value:
            write_value(out, element, place, depth + 1)
    elif isinstance(value, dict):
        out.append(_DICT)
        out += _U32.pack(len(value))
        for key, element in value.items():
            write_value(out, key, place, depth + 1)
            write_value(out, element, place, depth + 1)
    else:
        write_value(out, place(value), _refuse, depth)


def _write_bytes(out: bytearray, tag: int, content: bytes) -> None:
    out.append(tag)
    out += _U32.pack(len(content))
    out += content


class _Reader:
    """A cursor over untrusted bytes: every count is compared with what is left before it is used."""

    __slots__ = ("_bytes", "_size", "at")

    def __init__(self, payload: Union[bytes, bytearray, memoryview]) -> None:
        self._bytes = memoryview(payload)
        self._size = len(self._bytes)
        self.at = 0

    def take(self, length: int) -> memoryview:
        start = self.at
        end = start + length
        if end > self._size:
            left = self._size - start
            raise MalformedError("value: expected %d bytes, found %d, at offset %d" % (length, left, start))
        self.at = end
        return self._bytes[start:end]

    def counted(self) -> memoryview:
        """As many bytes as a number in front of them says."""
        start = self.at + 4
        if start <= self._size:
            end: int = start + _U32.unpack_from(self._bytes, self.at)[0]
            if end <= self._size:
                self.at = end
                return self._bytes[start:end]
        return self.take(self.count())  # says what is missing

    def text(self, length: int) -> str:
        return self._text(self.take(length))

    def _text(self, content: memoryview) -> str:
        try:
            return str(content, "utf-8")
        except UnicodeDecodeError as e:
            raise MalformedError("value: expected UTF-8, at offset %d" % (self.at - len(content))) from e

    def count(self, min_size: int = 1) -> int:
        count: int = _U32.unpack(self.take(4))[0]
        if count * min_size > self._size - self.at:
            raise MalformedError(
                "value: expected at most %d elements, found %d, at offset %d"
                % ((self._size - self.at) // min_size, count, self.at - 4)
            )
        return count

    def end(self) -> None:
        if self.at != self._size:
            left = self._size - self.at
            raise MalformedError("value: expected its end, found %d bytes, at offset %d" % (left, self.at))

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise MalformedError("value: expected at most %d levels, at offset %d" % (MAX_DEPTH, self.at))
        if self.at == self._size:
            self.take(1)  # says so
        tag = self._bytes[self.at]
        self.at += 1
        if tag == _STRING:
            return self._text(self.counted())
        if tag == _BYTES:
            return bytes(self.counted())
        if tag <= _TRUE:
            return _CONSTANTS[tag]
        if tag == _INT:
            return _I64.unpack(self.take(8))[0]
        if tag == _FLOAT:
            return _F64.unpack(self.take(8))[0]
        if tag == _COMPLEX:
            return complex(*_C128.unpack(self.take(16)))
        if tag == _TENSOR:
            return TensorIndex(_U32.unpack(self.take(4))[0])
        if tag == _REFERENCE:
            return ReferenceIndex(_U32.unpack(self.take(4))[0])
        if tag in (_LIST, _TUPLE):
            values = [self.value(depth + 1) for _ in range(self.count())]
            return values if tag == _LIST else tuple(values)
        if tag == _DICT:
            return self._dict(depth)
        if tag == _DEVICE:
            index, length = struct.unpack("<bB", self.take(2))
            return DeviceName(self.text(length), index)
        if tag == _DTYPE:
            return ElementType(self.take(1)[0])
        if tag == _SPARSE:
            indices, values, flags, count = struct.unpack("<IIBB", self.take(10))
            return SparseIndex(indices, values, bool(flags & 1), struct.unpack("<%dq" % count, self.take(8 * count)))
        raise MalformedError("value: expected a tag from 0 to 15, found %d, at offset %d" % (tag, self.at - 1))

    def _dict(self, depth: int) -> Dict[Any, Any]:
        found: Dict[Any, Any] = {}
        for _ in range(self.count(2)):
            start = self.at
            key = self.value(depth + 1)
            try:
                double = key in found
            except TypeError as e:
                raise MalformedError("value: expected a hashable key, at offset %d" % start) from e
            if double:
                raise MalformedError("value: expected distinct keys, at offset %d" % start)
            found[key] = self.value(depth + 1)
        return found
