"""Exceptions of functions on their way to the caller, with class, arguments and attributes."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from waybill import pickling

# of arguments and attributes; the text has no limit
_MAX_STATE = 1 << 20
_Base = BaseException
# of ImportError, NameError and AttributeError, which their constructors take by name
_SLOTS = ("name", "path")


class RemoteTraceback(Exception):
    """The text of an error with the callee's traceback, as the cause of an exception that has other arguments."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class State(NamedTuple):
    """Content of an exception besides its class and its text."""

    args: Optional[Tuple[Any, ...]]
    attributes: Dict[str, Any]


def state_of(error: BaseException) -> Tuple[Optional[State], List[str]]:
    """Returns the content to send besides class and text, and the names of other parts; None if the text suffices."""
    left: List[str] = []
    attributes = {}
    found = dict(vars(error))
    found.update((name, getattr(error, name)) for name in _SLOTS if getattr(type(error), name, None) is not None)
    for name, value in found.items():
        if name in _SLOTS and value is None:
            continue
        if _can_be_sent(value):
            attributes[name] = value
        else:
            left.append(name)
    # those of an OSError lack its file
    args: Optional[Tuple[Any, ...]] = error.args if not isinstance(error, OSError) else OSError.__reduce__(error)[1]
    if len(error.args) == 0 or (len(error.args) == 1 and isinstance(error.args[0], str) and not _has_slots(error)):
        # its text is that with the traceback
        args = None
    elif not _can_be_sent(args):
        args = None
        left.append("args")
    return (None if args is None and not attributes else State(args, attributes)), left


def _can_be_sent(value: Any) -> bool:
    try:
        packed = pickling.pack(value)
    except Exception:
        return False
    return len(packed.payload) <= _MAX_STATE and not packed.references and not packed.table.storages


def _has_slots(error: BaseException) -> bool:
    """Returns whether its class has state besides arguments and attributes, which its constructor derives from them."""
    return isinstance(error, (OSError, UnicodeError, StopIteration)) and not type(error) is UnicodeError


def made(kind: type, text: str, state: Optional[State]) -> BaseException:
    """The exception that a caller raises; a RuntimeError where the class can't be made even without its constructor."""
    if state is None:
        try:
            return kind(text)  # type: ignore[no-any-return]
        except Exception:
            state = State(None, {})
    args = (text,) if state.args is None else state.args
    for base in kind.__mro__:
        if base.__module__ != "builtins" or not issubclass(base, _Base):
            continue
        try:
            error: BaseException = base.__new__(kind, *args)
            base.__init__(error, *args)
            for name, value in state.attributes.items():
                setattr(error, name, value)
        except Exception:
            # such as one of several bases that does not lay the object out
            continue
        if state.args is not None:
            error.__cause__ = RemoteTraceback(text)
        return error
    return RuntimeError(text)
