"""Frames of the protocol between a Python process and a gateway (docs/reference/python-protocol.md)."""

import struct
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

from waybill import tensors
from waybill.errors import MalformedError, ProtocolError
from waybill.tensors import Descriptor
from waybill.values import utf8

PROTOCOL = 1
HELLO, WELCOME, CALL, RESULT, FAILED, CANCEL, RELEASE, DROP, FORGET, LEAVE, UNMAP = range(1, 12)

NAMED_CALL, NAMED_RET = 0x140, 0x241
SCRIPT_CALL, SCRIPT_RET = 0x100, 0x201
PYTHON_CALL, PYTHON_RET = 0x102, 0x203
PYTHON_REMOTE_CALL, REMOTE_RET = 0x105, 0x206
PYTHON_RREF_FETCH_CALL, PYTHON_RREF_FETCH_RET = 0x108, 0x20A

CREATE = 1
KEPT = 1
NO_DEADLINE = (1 << 63) - 1
DEFAULT_TIMEOUT = -(1 << 63)
MAX_FRAME = 64 << 20
MAX_TENSORS = 1 << 15
MAX_REFERENCES = 1024
MAX_TEXT = 1 << 16
MAX_NAME = 1 << 10

HEAD = struct.Struct("<IBBHQ")
_MESSAGE = struct.Struct("<IHHHH")
_STORAGE = struct.Struct("<QQBxHI")
_TENSOR = struct.Struct("<HBBB3xq")
_REFERENCE = struct.Struct("<QHB5x")
_CALL = struct.Struct("<HHHHQq")
_RESULT = struct.Struct("<HHHHQ")
# the second number of 16 bits is that of the root
_FAILED = struct.Struct("<IBxHI")
_ROOT = struct.Struct("<Q")
_INLINED, _REGION, _PART, _KEPT_PART = range(4)
_ALIGNMENT = 16
Bytes = Union[bytes, bytearray, memoryview]
# of a storage that is sent: what kind of place, and the position of its region or the number of its part
Where = Tuple[int, int]
INLINED: Where = (_INLINED, 0)


class Reference(NamedTuple):
    """A remote reference of a message.

    :ivar connection: what the handle belongs to; None where there is only one
    """

    handle: int
    owner: int = 0
    flags: int = 0
    connection: Any = None

    @property
    def is_owner(self) -> bool:
        """Returns whether the value is in this process."""
        return bool(self.flags & 1)

    @property
    def confirmed(self) -> bool:
        """Returns whether the owner knows this reference."""
        return bool(self.flags & 2)


class Message(NamedTuple):
    """Content of a call or its result."""

    payload: Bytes = b""
    descriptors: Sequence[Descriptor] = ()
    storages: Sequence[memoryview] = ()
    references: Sequence[Reference] = ()


class Stored(NamedTuple):
    """A storage of a frame: inlined at a position of the body, at one of the sender's region file, or in a part.

    A part's position is its number; where its bytes are stands in the body, in so many bytes at an offset.
    """

    size: int
    position: int
    place: int
    length: int
    offset: int


def in_region(position: int) -> Where:
    """The place of a storage in the sender's region file."""
    return _REGION, position


def in_part(number: int) -> Where:
    """The place of a storage in a part, which is the receiver's then."""
    return _PART, number


def in_kept_part(number: int) -> Where:
    """The place of a storage in a part that is used further."""
    return _KEPT_PART, number


class Call(NamedTuple):
    """A request: the body of ``CALL``."""

    type: int
    flags: int
    sender: int
    receiver: str
    parent: int
    time_ns: int


class Result(NamedTuple):
    """A response: the body of ``RESULT``."""

    type: int
    flags: int
    responder: int
    number: int


def frame(kind: int, exchange: int, body: Bytes = b"") -> bytes:
    """A frame of one piece."""
    return HEAD.pack(len(body), kind, 0, 0, exchange) + body


def numbers(kind: int, values: Sequence[int]) -> bytes:
    """A frame that lists positions or handles."""
    return frame(kind, 0, struct.pack("<%dQ" % len(values), *values))


def call_prefix(call: Call) -> bytes:
    """The body of ``CALL`` before its message."""
    receiver = utf8(call.receiver, "name of a worker")
    if len(receiver) > MAX_NAME:
        raise ValueError("name of a worker: expected at most %d bytes, found %d" % (MAX_NAME, len(receiver)))
    return _CALL.pack(call.type, call.flags, call.sender, len(receiver), call.parent, call.time_ns) + receiver


def result_prefix(result: Result) -> bytes:
    """The body of ``RESULT`` before its message."""
    return _RESULT.pack(result.type, result.flags, result.responder, 0, result.number)


# code and id of the call whose failure caused an error
Root = Tuple[int, int]


def failed(exchange: int, code: int, kind: int, text: str, root: Optional[Root] = None) -> bytes:
    """A frame ``FAILED``."""
    content = text.encode("utf-8", "replace")[:MAX_TEXT]
    end = b"" if root is None else _ROOT.pack(root[1])
    head = _FAILED.pack(code, kind, 0 if root is None else root[0], len(content))
    return frame(FAILED, exchange, head + content + end)


def message_frame(
    kind: int, exchange: int, prefix: bytes, message: Message, places: Sequence[Where], max_frame: int
) -> List[Bytes]:
    """A frame with a message, in pieces. ``places`` has the place of each storage."""
    payload, descriptors, storages, references = message
    length = len(payload)
    if length > max_frame:
        raise _too_large(length, max_frame)
    check_counts(message)
    head = _MESSAGE.pack(length, len(storages), len(descriptors), len(references), 0)
    if not (storages or references):
        size = len(prefix) + _MESSAGE.size + length
        if size > max_frame:
            raise _too_large(length, max_frame)
        return [b"".join((HEAD.pack(size, kind, 0, 0, exchange), prefix, head, payload))]
    tables = bytearray()
    for tensor in descriptors:
        dimensions = len(tensor.sizes)
        tables += _TENSOR.pack(tensor.storage, tensor.dtype, tensor.flags, dimensions, tensor.offset)
        for pair in zip(tensor.sizes, tensor.strides):
            tables += struct.pack("<qq", *pair)
    for reference in references:
        tables += _REFERENCE.pack(*reference[:3])
    at = len(prefix) + len(head) + _STORAGE.size * len(storages) + len(tables) + len(payload)
    entries = bytearray()
    inlined: List[Bytes] = []
    for storage, (place, position) in zip(storages, places):
        if place != _INLINED:
            entries += _STORAGE.pack(len(storage), position, place, 0, 0)
            continue
        padding = -at % _ALIGNMENT
        entries += _STORAGE.pack(len(storage), at + padding, _INLINED, 0, 0)
        if padding:
            inlined.append(bytes(padding))
        inlined.append(storage)
        at += padding + len(storage)
    if at > max_frame:
        raise _too_large(at, max_frame)
    first = b"".join((HEAD.pack(at, kind, 0, 0, exchange), prefix, head, entries, tables, payload))
    return [first] + inlined


def check_counts(message: Message) -> None:
    """Raises ValueError for a message of more tensors or references than a message of the home has."""
    tensor_count = max(len(message.storages), len(message.descriptors))
    if tensor_count > MAX_TENSORS:
        raise ValueError(
            "message: expected at most %d tensors, found %d; send fewer, or stack those of one shape"
            % (MAX_TENSORS, tensor_count)
        )
    if len(message.references) > MAX_REFERENCES:
        raise ValueError(
            "message: expected at most %d remote references, found %d" % (MAX_REFERENCES, len(message.references))
        )


def _too_large(found: int, limit: int) -> ValueError:
    return ValueError(
        "message: expected at most %d bytes outside of regions, found %d; send large data as a tensor" % (limit, found)
    )


def read_call(body: memoryview) -> Tuple[Call, int]:
    """The head of a ``CALL`` and the offset of its message."""
    _need(body, _CALL.size, 0)
    kind, flags, sender, length, parent, time_ns = _CALL.unpack_from(body)
    _need(body, length, _CALL.size)
    receiver = _text(body[_CALL.size : _CALL.size + length])
    return Call(kind, flags, sender, receiver, parent, time_ns), _CALL.size + length


def read_result(body: memoryview) -> Tuple[Result, int]:
    """The head of a ``RESULT`` and the offset of its message."""
    _need(body, _RESULT.size, 0)
    kind, flags, responder, _, number = _RESULT.unpack_from(body)
    return Result(kind, flags, responder, number), _RESULT.size


def read_failed(body: memoryview) -> Tuple[int, int, str, Optional[Root]]:
    """Code, kind, text and root of a ``FAILED``."""
    _need(body, _FAILED.size, 0)
    code, kind, root, length = _FAILED.unpack_from(body)
    end = _FAILED.size + length
    _need(body, length, _FAILED.size)
    text = str(body[_FAILED.size : end], "utf-8", "replace")
    if root == 0:
        return code, kind, text, None
    _need(body, _ROOT.size, end)
    return code, kind, text, (root, _ROOT.unpack_from(body, end)[0])


def read_numbers(body: memoryview) -> Tuple[int, ...]:
    """Positions, handles or numbers of a ``RELEASE``, ``DROP`` or ``FORGET``."""
    if len(body) % 8:
        raise ProtocolError("list of numbers: expected a multiple of 8 bytes, found %d" % len(body))
    return struct.unpack("<%dQ" % (len(body) // 8), body)


def read_message(body: memoryview, at: int, region: Any, part: Any = None) -> Message:
    """The message of a frame.

    ``region(position, size)`` gives the bytes of a storage in the region file, and ``part(number, size, place)`` those
    of one in a part, of which the body says where it is.
    """
    _need(body, _MESSAGE.size, at)
    length, storage_count, tensor_count, reference_count, _ = _MESSAGE.unpack_from(body, at)
    at += _MESSAGE.size
    if not (storage_count or tensor_count or reference_count):
        if at + length > len(body):
            _need(body, length, at)
        return Message(body[at : at + length])
    _need(body, storage_count * _STORAGE.size, at)
    stored = [Stored(*_STORAGE.unpack_from(body, at + i * _STORAGE.size)) for i in range(storage_count)]
    at += storage_count * _STORAGE.size
    descriptors = []
    for _ in range(tensor_count):
        _need(body, _TENSOR.size, at)
        storage, dtype, flags, dimensions, offset = _TENSOR.unpack_from(body, at)
        at += _TENSOR.size
        _need(body, 16 * dimensions, at)
        pairs = struct.unpack_from("<%dq" % (2 * dimensions), body, at)
        at += 16 * dimensions
        descriptors.append(Descriptor(dtype, flags, pairs[0::2], pairs[1::2], offset, storage))
    _need(body, reference_count * _REFERENCE.size, at)
    references = [Reference(*_REFERENCE.unpack_from(body, at + i * _REFERENCE.size)) for i in range(reference_count)]
    at += reference_count * _REFERENCE.size
    _need(body, length, at)
    storages = []
    for size, position, place, place_length, place_at in stored:
        if place == _REGION:
            storages.append(region(position, size))
        elif place == _PART and part is not None:
            _need(body, place_length, place_at)
            storages.append(part(position, size, body[place_at : place_at + place_length]))
        elif place != _INLINED:
            raise ProtocolError("storage: expected a place from 0 to 2, parts where they are used, found %d" % place)
        elif position > len(body) or size > len(body) - position:
            raise ProtocolError("storage: expected %d bytes at %d in a body of %d" % (size, position, len(body)))
        else:
            storages.append(body[position : position + size])
    try:
        tensors.check(descriptors, storages)
    except MalformedError as e:
        raise ProtocolError(str(e)) from e
    return Message(body[at : at + length], descriptors, storages, references)


def _need(body: memoryview, length: int, at: int) -> None:
    if at > len(body) or length > len(body) - at:
        raise ProtocolError("frame: expected %d bytes at offset %d, found %d" % (length, at, max(0, len(body) - at)))


def _text(content: memoryview) -> str:
    try:
        return str(content, "utf-8")
    except UnicodeDecodeError as e:
        raise ProtocolError("frame: expected UTF-8") from e
