"""Calls of Python functions as messages: the function's name and what its arguments are, for readers, and a pickle."""

import builtins
import sys
import traceback
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Tuple

from waybill import exceptions, pickling, profiling, tensors
from waybill.errors import CodeRefused, MalformedError
from waybill.frames import Message
from waybill.native_values import Place, references_of, resolve
from waybill.values import (
    TensorIndex,
    bytes_head,
    decode_invocation,
    decode_value,
    dict_head,
    encode_string,
    encode_value,
    invocation_head,
    readable,
    utf8,
)

_MAX_NAME = 256
_MAX_DESCRIBED = 32
_MAX_TEXT = 64
# of a text or bytes that are shown, of all of these of a call, of the elements of its arguments, and of their levels
_MAX_SHOWN = 128
_MAX_TEXTS = 2048
_MAX_ELEMENTS = 64
_MAX_DEPTH = 3
# of an int whose digits are shown: Python refuses to make too many of them
_MAX_BITS = 200
# a longer pickle lies beside the payload, as a tensor
_MAX_PICKLE = 1 << 16
# of an error, in characters
_MAX_ERROR = 1 << 18
_ARGS, _KWARGS, _VALUE, _PICKLE = map(encode_string, ("args", "kwargs", "value", "pickle"))
_NO_ARGS = encode_value([])
_NO_KWARGS = encode_value({})


class PythonCall(NamedTuple):
    """A received call of a Python function."""

    name: str
    function: Callable[..., Any]
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    is_async: bool
    autograd: Optional[Any]
    profile: Optional[Any] = None
    # whether arguments and result are values, and not pickled
    plain: bool = False


class RemoteException(NamedTuple):
    """The error of a function: its text with the traceback, its class, and the class's name."""

    msg: str
    exception_type: type
    type_name: str = ""
    # what its text does not make
    state: Optional[exceptions.State] = None


def function_name(function: Any) -> str:
    """``module:qualname`` of a function, of a bound method with its class, or of an object's class."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None)
    if name is None:
        module, name = type(function).__module__, type(function).__qualname__
    if module is None:
        owner = getattr(function, "__self__", None)
        module = getattr(owner, "__module__", None) or type(owner).__module__
    return "%s:%s" % (module, name)


def describe(value: Any) -> str:
    """Describes a value in at most 64 characters, for readers of the journal."""
    kind = type(value)
    if value is None:
        text = "None"
    elif kind is int and value.bit_length() > _MAX_BITS:
        text = "int of %d bits" % value.bit_length()
    elif kind in (int, float, bool):
        text = "%s %r" % (kind.__name__, value)
    elif kind in (str, bytes):
        text = "%s %r" % (kind.__name__, value[:_MAX_TEXT])
    elif kind in (list, tuple, dict, set):
        text = "%s of %d" % (kind.__name__, len(value))
    elif isinstance(value, type):
        text = "class " + value.__qualname__
    else:
        text = kind.__name__ + _shape(value)
    return readable(text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…")


class _Shown:
    """A value as readers of the journal see it and search it: itself where it is small and plain, and what it is
    between < and > where it is not. Nothing of a class of the program's is called."""

    def __init__(self) -> None:
        self._left = _MAX_ELEMENTS
        self._text = _MAX_TEXTS

    def of(self, value: Any, depth: int = 0) -> Any:
        """Describes values, with a max number of elements in all."""
        kind = type(value)
        if value is None or kind in (bool, float):
            return value
        if kind is int:
            return value if -(1 << 63) <= value < 1 << 63 else "<%s>" % describe(value)
        if kind in (str, bytes):
            if len(value) <= min(_MAX_SHOWN, self._text):
                self._text -= len(value)
                return readable(value) if kind is str else value
            return "<%s of %d>" % (kind.__name__, len(value))
        if kind in (list, tuple, dict) and depth < _MAX_DEPTH and len(value) <= self._left:
            self._left -= len(value)
            try:
                return self._container(value, depth + 1)
            except RuntimeError:
                # another thread changes it
                pass
        return "<%s>" % describe(value)

    def _container(self, value: Any, depth: int) -> Any:
        if type(value) is dict:
            found = {self._key(key): self.of(each, depth) for key, each in value.items()}
            return found if len(found) == len(value) else "<dict of %d>" % len(value)
        elements = [self.of(each, depth) for each in value]
        return elements if type(value) is list else tuple(elements)

    def _key(self, key: Any) -> Any:
        shown = self.of(key, _MAX_DEPTH)
        return shown if isinstance(shown, str) or key is None or type(key) in (bool, int, float) else str(shown)


def _shape(value: Any) -> str:
    """Element type and shape of an array or a tensor; empty for other objects, whose attributes may do anything."""
    try:
        return " %s%s" % (str(value.dtype).replace("torch.", ""), [int(size) for size in value.shape])
    except Exception:
        return ""


def _fields_behind(packed: pickling.Packed, autograd: Any, profile: Any) -> Dict[str, Any]:
    """Returns the content after the pickle."""
    fields: Dict[str, Any] = {}
    if packed.buffers:
        count = len(packed.table.descriptors)
        fields["buffers"] = [TensorIndex(i) for i in range(count - packed.buffers, count)]
    if autograd is not None:
        fields["autograd"] = autograd
    if profile is not None:
        fields["profile"] = profile
    return fields


def _message(pieces: List[bytes], packed: pickling.Packed, behind: Dict[str, Any]) -> Message:
    """A message that begins with these pieces; the pickle, and what follows it, are added."""
    payload, table, _, references = packed
    if len(payload) <= _MAX_PICKLE:
        pieces += (_PICKLE, bytes_head(len(payload)), payload)
    else:
        # behind the buffers
        table = tensors.TensorTable() if not table.descriptors else table
        pieces += (_PICKLE, encode_value(TensorIndex(table.add_buffer(memoryview(payload), payload))))
    for key, value in behind.items():
        pieces += (encode_string(key), encode_value(value))
    return Message(b"".join(pieces), table.descriptors, table.storages, references)


def encode_call(
    function: Any,
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
    is_async: bool,
    packed: pickling.Packed,
    autograd: Any = None,
    profile: Any = None,
) -> Message:
    """The message of a call; ``packed`` has the pickle of ``(function, args, kwargs)``."""
    shown = _Shown()
    positional = _NO_ARGS
    if args:
        positional = encode_value([shown.of(value) for value in args[:_MAX_DESCRIBED]])
    named = _NO_KWARGS
    if kwargs:
        keys = list(kwargs)[:_MAX_DESCRIBED]
        named = encode_value({readable(str(key)[:_MAX_TEXT]): shown.of(kwargs[key]) for key in keys})
    name = utf8(function_name(function), "name of a function")
    if len(name) > _MAX_NAME:
        name = name[-_MAX_NAME:].decode("utf-8", "ignore").encode("utf-8")
    behind = _fields_behind(packed, autograd, profile)
    head = invocation_head(name, is_async, 3 + len(behind))
    return _message([head, _ARGS, positional, _KWARGS, named], packed, behind)


def decode_call(message: Message, load: Callable[..., Any], by_value: bool = True) -> PythonCall:
    """A received call. ``load`` unpickles; its errors are raised, and :class:`CodeRefused` for code that may not be."""
    call = decode_invocation(message.payload)
    if "pickle" not in call.named:
        function = pickling.named_function(call.name, by_value)
        references = references_of(message)
        args = tuple(resolve(value, message, references) for value in call.positional)
        kwargs = {key: resolve(value, message, references) for key, value in call.named.items()}
        return PythonCall(call.name, function, args, kwargs, call.is_async, None, None, True)
    if call.named.get("by_value") and not by_value:
        raise CodeRefused("call %s contains code: %s" % (call.name, pickling.CODE_REFUSED))
    content = _loaded(call.named, message, load, "call " + call.name)
    if not (isinstance(content, tuple) and len(content) == 3 and callable(content[0])):
        raise MalformedError("call %s: expected a pickle of (function, args, kwargs)" % call.name)
    function, args, kwargs = content
    named = call.named
    return PythonCall(
        call.name,
        function,
        tuple(args or ()),
        kwargs or {},
        call.is_async,
        named.get("autograd"),
        _profile_of(named, call.name),
    )


def _profile_of(named: Dict[str, Any], name: str) -> Any:
    found = named.get("profile")
    if found is None or profiling.is_field(found):
        return found
    raise MalformedError("call %s: expected flags and a token as its profile, found %s" % (name, describe(found)))


def profile_of(message: Message) -> Any:
    """Returns the profiling options of a call; None if it is not profiled."""
    call = decode_invocation(message.payload)
    return _profile_of(call.named, call.name)


def events_of(message: Message) -> Any:
    """The events of a profiled call in its result."""
    fields = decode_value(message.payload)
    return fields.get("profile") if isinstance(fields, dict) else None


def encode_result(value: Any, packed: pickling.Packed, autograd: Any = None, profile: Any = None) -> Message:
    """The message of a result; ``packed`` has the pickle of the value."""
    behind = _fields_behind(packed, autograd, profile)
    return _message([dict_head(2 + len(behind)), _VALUE, encode_value(_Shown().of(value))], packed, behind)


def encode_plain(value: Any) -> Message:
    """The message of a result for a caller that reads no pickles; raises TypeError for what is no value."""
    place = Place()
    return place.message(encode_value({"result": value}, place))


def encode_error(error: RemoteException) -> Message:
    """The message of an error that a function raised."""
    text = error.msg
    if len(text) > _MAX_ERROR:
        text = "%s\n… %d characters left out …\n%s" % (
            text[: _MAX_ERROR // 2],
            len(text) - _MAX_ERROR // 2 * 2,
            text[-_MAX_ERROR // 2 :],
        )
    fields = {"error": readable(text), "type": readable(error.type_name)}
    if error.state is not None:
        fields["pickle"] = pickling.pack(tuple(error.state)).payload
    return Message(encode_value(fields))


def decode_result(message: Message, load: Callable[..., Any]) -> Tuple[Any, Optional[Any]]:
    """A received result, or a :class:`RemoteException`, and what autograd says of it."""
    fields = decode_value(message.payload)
    if not isinstance(fields, dict):
        raise MalformedError("result of a Python function: expected a dict, found %s" % type(fields).__name__)
    text = fields.get("error")
    if text is not None:
        name = str(fields.get("type", ""))
        return RemoteException(str(text), exception_class(name), name, _state_of(fields, message, load)), None
    return _loaded(fields, message, load, "result of a Python function"), fields.get("autograd")


def _state_of(fields: Dict[str, Any], message: Message, load: Callable[..., Any]) -> Optional[exceptions.State]:
    if "pickle" not in fields:
        return None
    try:
        args, attributes = _loaded(fields, message, load, "error of a Python function")
        return exceptions.State(args, attributes)
    except Exception:
        # what it is made of is not to be found here
        return None


def _loaded(fields: Dict[str, Any], message: Message, load: Callable[..., Any], what: str) -> Any:
    content = fields.get("pickle")
    if isinstance(content, TensorIndex):
        last = len(message.descriptors) - 1
        if content.position != last or not _is_bytes(message.descriptors[last]):
            raise MalformedError("%s: expected the message's last tensor, of bytes, as its pickle" % what)
        place = message.descriptors[last]
        content = message.storages[place.storage][place.offset : place.offset + place.sizes[0]]
        message = message._replace(descriptors=message.descriptors[:last])
    elif not isinstance(content, bytes):
        raise MalformedError("%s: expected bytes as its pickle, found %s" % (what, type(content).__name__))
    buffers = fields.get("buffers")
    if buffers is None:
        return load(content, message, 0, _autograd_of(fields, what))
    first = len(message.descriptors) - len(buffers)
    if [TensorIndex(first + i) for i in range(len(buffers))] != buffers:
        raise MalformedError("%s: expected its buffers as the last tensors of the message" % what)
    for descriptor in message.descriptors[first:]:
        if not _is_bytes(descriptor):
            raise MalformedError("%s: expected bytes of one dimension as a buffer" % what)
    return load(content, message, len(buffers), _autograd_of(fields, what))


def _is_bytes(descriptor: tensors.Descriptor) -> bool:
    return descriptor.dtype == tensors.UINT8 and len(descriptor.sizes) == 1 and descriptor.strides == (1,)


def _autograd_of(fields: Dict[str, Any], what: str) -> Any:
    """Context id, message id and sender's worker id; None for a message outside of a context."""
    found = fields.get("autograd")
    if found is None or (isinstance(found, list) and len(found) == 3 and all(type(one) is int for one in found)):
        return found
    raise MalformedError("%s: expected three ints as its autograd, found %s" % (what, describe(found)))


def remote_exception(error: BaseException, worker: Any) -> RemoteException:
    """Returns the error for a caller from an exception that is being handled."""
    text = "".join(traceback.format_exception(type(error), error, _from_function(error.__traceback__)))
    kind = type(error)
    message = "On %s:\n%s: %s\n%s" % (worker, kind.__name__, error, text)
    state, left = exceptions.state_of(error)
    if left:
        message += "\nwaybill: these can't be pickled, and stay with the callee: %s" % ", ".join(left)
    return RemoteException(message, kind, "%s:%s" % (kind.__module__, kind.__qualname__), state)


def _from_function(at: Any) -> Any:
    """A traceback from the first frame on that is not of this package; all of it if there is none."""
    first = at
    while first is not None and _is_own(first.tb_frame.f_globals.get("__name__", "")):
        first = first.tb_next
    return at if first is None else first


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "waybill"


def report(error: RemoteException) -> None:
    """Prints an error to the standard error of the process whose function raised it."""
    print(error.msg, file=sys.stderr)


def exception_class(name: str) -> type:
    """The class of an exception by its name, if this process has it loaded; otherwise RuntimeError."""
    module, _, qualname = name.partition(":")
    found: Any = builtins if module == "builtins" else sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError


def raise_remote(error: RemoteException) -> NoReturn:
    """Raises the error of a function with its own class, also if its constructor takes no text."""
    raise exceptions.made(error.exception_type, error.msg, error.state)
