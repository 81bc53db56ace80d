"""Values and calls by name in the broker's own encoding, for handlers of every language (docs/reference/values.md)."""

import re
import struct
from typing import Any, Callable, Dict, List, NamedTuple, Tuple, Union

from waybill.errors import MalformedError

MAX_DEPTH = 32
_MAX_INT = (1 << 63) - 1
_NONE, _FALSE, _TRUE, _INT, _FLOAT, _COMPLEX, _STRING, _BYTES, _TENSOR, _LIST, _TUPLE, _DICT, _DEVICE, _DTYPE = range(
    14
)
_SPARSE, _REFERENCE = 14, 15
_CONSTANTS = (None, False, True)
# of element types that travel
ELEMENT_CODES = frozenset((*range(12), 15, *range(21, 30), 44))
_DEVICE_TYPE = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_TAG_U32 = struct.Struct("<BI")
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
    """A device, where torch is not imported or does not know it; number -1 means any."""

    type: str
    number: int


class ElementType(NamedTuple):
    """An element type, by libtorch's code, where torch is not imported or does not have it."""

    code: int


Place = Callable[[Any], Any]


class Invocation(NamedTuple):
    """A call of an operation by name."""

    name: str
    positional: Tuple[Any, ...] = ()
    named: Dict[str, Any] = {}
    is_async: bool = False


_MAX_BYTES = (1 << 32) - 1
_PLAIN = (bool, int, float, complex, str, bytes, list, tuple, dict)


def _refuse(value: Any) -> Any:
    raise refused(value)


def refused(value: Any, why: str = "") -> TypeError:
    """The error for an object that no value can stand for."""
    kind = type(value)
    if not why:
        plain = next((each for each in _PLAIN if isinstance(value, each)), None)
        why = "" if plain is None else "its class would be lost; pass %s(...) of it" % plain.__name__
    return TypeError(
        "value: expected None, bool, int, float, complex, str, bytes, list, tuple, dict, a numpy array, a tensor or a "
        "remote reference, found %s%s%s" % (kind.__qualname__, "; " if why else "", why)
    )


def _refuse_key(value: Any) -> Any:
    raise TypeError(
        "value: expected None, bool, int, float, complex, str, bytes or a tuple of them as a key of a dict, found %s"
        % type(value).__qualname__
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
    name = utf8(call.name, "name of an operation")
    if not 1 <= len(name) <= 256:
        raise ValueError("name of an operation: expected 1 to 256 bytes, found %d" % len(name))
    out = bytearray(_U16.pack(len(name) | (0x8000 if call.is_async else 0)))
    out += name
    out += _U32.pack(len(call.positional))
    for value in call.positional:
        write_value(out, value, place)
    out += _U32.pack(len(call.named))
    for key, value in call.named.items():
        if type(key) is not str:
            raise TypeError("name of a field: expected a str, found %s" % type(key).__qualname__)
        content = utf8(key, "name of a field")
        out += _TAG_U32.pack(_STRING, len(content)) + content
        write_value(out, value, place)
    return bytes(out)


def invocation_head(name: bytes, is_async: bool, named: int) -> bytes:
    """Encodes the start of a call by name without positional values, before a number of names with their values."""
    length = len(name)
    return _U16.pack(length | 0x8000 if is_async else length) + name + b"\0\0\0\0" + _U32.pack(named)


def dict_head(size: int) -> bytes:
    """Encodes the start of a dict, before a number of keys with their values."""
    return _TAG_U32.pack(_DICT, size)


def bytes_head(size: int) -> bytes:
    """Encodes the start of a value of bytes, before a number of bytes."""
    if size > _MAX_BYTES:
        raise ValueError("bytes: expected at most %d, found %d; send them as a tensor" % (_MAX_BYTES, size))
    return _TAG_U32.pack(_BYTES, size)


def utf8(text: str, what: str = "str") -> bytes:
    """The UTF-8 of a text; raises ValueError where it has none."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as e:
        raise ValueError(
            "%s: expected text that UTF-8 has, found half of a surrogate pair, U+%04X, at %d of %d characters; "
            "pass bytes, such as os.fsencode(...) of it" % (what, ord(text[e.start]), e.start, len(text))
        ) from None


def encode_string(text: str) -> bytes:
    """Encodes a string."""
    content = utf8(text)
    if len(content) > _MAX_BYTES:
        raise ValueError("str: expected at most %d bytes of UTF-8, found %d" % (_MAX_BYTES, len(content)))
    return _TAG_U32.pack(_STRING, len(content)) + content


def readable(text: str) -> str:
    """A text for readers, in which UTF-8 has each character."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def decode_invocation(payload: Union[bytes, bytearray, memoryview]) -> Invocation:
    """Decodes a call by name; raises :class:`MalformedError` if the payload is none."""
    reader = _Reader(payload)
    head = _U16.unpack(reader.take(2))[0]
    name = reader.text(head & 0x7FFF)
    positional = tuple(reader.values(0))
    named: Dict[str, Any] = {}
    for _ in range(reader.count(2)):
        key = reader.value(0)
        if not isinstance(key, str) or key in named:
            raise MalformedError("call %s: expected distinct strings as names, at offset %d" % (name, reader.at))
        named[key] = reader.value(0)
    reader.end()
    return Invocation(name, positional, named, bool(head & 0x8000))


def write_value(out: bytearray, value: Any, place: Place, depth: int = 0) -> None:
    """Appends one value. An object of another class than those of values is given to ``place``."""
    kind = type(value)
    if depth > MAX_DEPTH:
        raise ValueError("value: expected at most %d levels of lists, tuples and dicts" % MAX_DEPTH)
    if kind is str:
        out += encode_string(value)
    elif kind is bytes:
        out += bytes_head(len(value))
        out += value
    elif value is None:
        out.append(_NONE)
    elif kind is bool:
        out.append(_TRUE if value else _FALSE)
    elif kind is TensorIndex:
        out += b"\x08" + _U32.pack(value[0])
    elif kind is ReferenceIndex:
        out += b"\x0f" + _U32.pack(value[0])
    elif kind is int:
        if not -_MAX_INT - 1 <= value <= _MAX_INT:
            raise ValueError(
                "int: expected -2**63 to 2**63 - 1, found one of %d bits; pass a str, or an array of uint64"
                % value.bit_length()
            )
        out.append(_INT)
        out += _I64.pack(value)
    elif kind is float:
        out.append(_FLOAT)
        out += _F64.pack(value)
    elif kind is complex:
        out.append(_COMPLEX)
        out += _C128.pack(value.real, value.imag)
    elif kind is list or kind is tuple:
        out += _TAG_U32.pack(_LIST if kind is list else _TUPLE, len(value))
        for element in value:
            write_value(out, element, place, depth + 1)
    elif kind is dict:
        out += dict_head(len(value))
        for key, element in value.items():
            write_value(out, key, _refuse_key, depth + 1)
            write_value(out, element, place, depth + 1)
    elif kind is ElementType:
        if value.code not in ELEMENT_CODES:
            raise ValueError("element type: expected a code of libtorch for one that travels, found %s" % value.code)
        out += bytes((_DTYPE, value.code))
    elif kind is DeviceName:
        _write_device(out, value)
    elif kind is SparseIndex:
        out += struct.pack("<BIIBB", _SPARSE, value.indices, value.values, int(value.coalesced), len(value.sizes))
        out += struct.pack("<%dq" % len(value.sizes), *value.sizes)
    elif kind is bytearray:
        write_value(out, bytes(value), place, depth)
    elif kind is memoryview:
        write_value(out, _bytes_of(value), place, depth)
    else:
        write_value(out, place(value), _refuse, depth)


def _write_device(out: bytearray, device: DeviceName) -> None:
    if not _DEVICE_TYPE.match(device.type) or not -1 <= device.number <= 127:
        raise ValueError(
            "device: expected a type in lower case and a number from -1 to 127, found %s:%d"
            % (device.type, device.number)
        )
    out += struct.pack("<BbB", _DEVICE, device.number, len(device.type)) + device.type.encode("ascii")


def _bytes_of(view: memoryview) -> bytes:
    if view.ndim != 1 or view.format not in ("B", "b", "c"):
        raise TypeError(
            "value: expected a memoryview of bytes in one dimension, found one of format %s in %d dimensions; pass "
            "numpy.asarray(...) of it, or its tobytes()" % (view.format, view.ndim)
        )
    return view.tobytes()


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
        at = self.at
        size = self._size
        if at == size:
            self.take(1)  # says so
        content = self._bytes
        tag = content[at]
        self.at = at + 1
        if tag == _STRING or tag == _BYTES:
            start = at + 5
            if start <= size:
                end = start + _U32.unpack_from(content, at + 1)[0]
                if end <= size:
                    self.at = end
                    return bytes(content[start:end]) if tag == _BYTES else self._text(content[start:end])
            self.take(self.count())  # says what is missing
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
            values = self.values(depth + 1)
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

    def values(self, depth: int) -> List[Any]:
        count = self.count()
        return [self.value(depth) for _ in range(count)] if count else []

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
