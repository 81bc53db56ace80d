"""Values and times that a program may pass, and what becomes of them on every way through the client.

Each value arrives equal and of its type, or is refused by name before anything is sent. Used by tests of this package,
whose router is all in memory, and by the tests of the gateway, on a node and its pool.
"""

import collections
import datetime
import decimal
import enum
import fractions
import hashlib
import pickle
import random
import sys
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from waybill.libraries import loaded
from waybill.values import DeviceName, ElementType

# a recursive value has no end
_MAX_DEPTH = 50
_gate = threading.Event()
_received: Dict[str, int] = collections.Counter()


class Colour(enum.IntEnum):
    RED = 1


class Word(str):
    pass


class Point(NamedTuple):
    x: int
    y: int


class Case(NamedTuple):
    """A value by name.

    :ivar plain: by ``waybill.call``: what arrives; the value itself if absent
    :ivar refused: by ``waybill.call``: how the error begins; empty for a value that is sent
    """

    name: str
    value: Any
    plain: Any = None
    refused: str = ""


# What a value is, as text


def _digest(content: bytes) -> str:
    return content.hex() if len(content) < 100 else hashlib.sha256(content).hexdigest()


def text_of(value: Any, exact: bool, depth: int = 0) -> str:
    """A text that two values share only if they are equal and of one type.

    :param exact: false: an array is its element type, its sizes and its elements, in whatever library and byte order
    """
    if depth > _MAX_DEPTH:
        return "…"
    torch, numpy = loaded("torch"), loaded("numpy")
    kind = type(value)
    name = "%s.%s" % (kind.__module__, kind.__qualname__)
    if torch is not None and isinstance(value, torch.Tensor):
        return _text_of_tensor(value, name, exact, torch)
    if numpy is not None and isinstance(value, numpy.ndarray):
        native = value if exact else numpy.ascontiguousarray(value, value.dtype.newbyteorder("=")).reshape(value.shape)
        content = repr(native.tolist()).encode() if value.dtype.hasobject else native.tobytes()
        mask = _digest(numpy.ma.getmaskarray(value).tobytes()) if isinstance(value, numpy.ma.MaskedArray) else ""
        what = "%s %s" % (name, value.dtype.str) if exact else value.dtype.name
        return "array %s %s %s %s" % (what, value.shape, _digest(content), mask)
    if numpy is not None and isinstance(value, numpy.generic):
        return "%s %s %s" % (name, value.dtype, _digest(value.tobytes()))
    if isinstance(value, (list, tuple, collections.deque)):
        return "%s(%s)" % (name, ", ".join(text_of(each, exact, depth + 1) for each in value))
    if isinstance(value, dict):
        items = [[text_of(each, exact, depth + 1) for each in item] for item in value.items()]
        parts = ("%s: %s" % (key, each) for key, each in items)
        return "%s{%s}" % (name, ", ".join(parts))
    if isinstance(value, (set, frozenset)):
        return "%s{%s}" % (name, ", ".join(sorted(text_of(each, exact, depth + 1) for each in value)))
    if isinstance(value, (bytes, bytearray)):
        return "%s %s" % (name, _digest(bytes(value)))
    if isinstance(value, str) and len(value) > 100:
        return "%s %s" % (name, _digest(value.encode("utf-8", "surrogatepass")))
    return "%s %s" % (name, hex(value) if kind is int else repr(value))


def _text_of_tensor(value: Any, name: str, exact: bool, torch: Any) -> str:
    dense = value.detach()
    dense = (dense.to_dense() if value.layout is not torch.strided else dense).resolve_conj().resolve_neg()
    wide = dense.float() if dense.dtype is torch.bfloat16 else dense
    content = _digest(bytes(wide.contiguous().reshape(-1).view(torch.uint8).tolist()) if wide.numel() else b"")
    kind = str(value.dtype).replace("torch.", "")
    if not exact:
        return "array %s %s %s " % (kind, tuple(value.shape), content)
    return "tensor %s %s %s %s %s" % (name, kind, tuple(value.shape), content, (value.requires_grad, str(value.layout)))


# On the side that serves


def answer(x: Any = None) -> Dict[str, Any]:
    """By ``waybill.call``: the value, and what it is here."""
    _received["answer"] += 1
    return {"x": x, "seen": text_of(x, False)}


def echo(x: Any) -> Tuple[Any, str]:
    """By ``rpc_sync`` and its kin: the value, and what it is here."""
    _received["echo"] += 1
    return x, text_of(x, True)


def received() -> Dict[str, int]:
    """How many calls of this process's functions there were."""
    return dict(_received)


def many(count: int) -> List[Any]:
    """Tensors of torch, or arrays of numpy, or of neither."""
    torch, numpy = loaded("torch"), loaded("numpy")
    if torch is not None:
        return [torch.full((2,), float(i)) for i in range(count)]
    return [numpy.full((1025,), float(i)) for i in range(count)] if numpy is not None else []


def sum_of(values: List[Any]) -> float:
    """The sum of the first element of each."""
    return sum(float(each[0]) for each in values)


def wait_for_gate() -> bool:
    """Returns long after a short timeout, or after :func:`open_gate`."""
    return _gate.wait(4)


def open_gate() -> None:
    _gate.set()


def long_text(size: int) -> Dict[str, str]:
    """A value whose pickle is long, and has no buffers beside it."""
    return {"text": "x" * size}


# Values


def cases() -> List[Case]:
    """Values of Python, and of the libraries that the program has imported."""
    found = python_cases()
    if loaded("numpy") is not None:
        found += numpy_cases()
    if loaded("torch") is not None:
        found += torch_cases()
    return found


def python_cases() -> List[Case]:
    torch = loaded("torch")
    has_newest = hasattr(torch, "float8_e8m0fnu")
    deep: Any = 1
    for _ in range(31):
        deep = [deep]
    recursive: List[Any] = []
    recursive.append(recursive)
    sent: List[Any] = [
        None,
        True,
        False,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        0.0,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        float("inf"),
        float("-inf"),
        float("nan"),
        1 - 2j,
        complex(-0.0, float("inf")),
        "",
        "é\0\U0001f600\uffff",
        "x" * 100000,
        b"",
        b"\x00\xff",
        bytes(100000),
        [],
        (),
        {},
        [None, (1, [2.5, ("a", b"b")]), {"k": {1: (), (1, "t"): 2, None: 3, b"b": 4, 1.5: 5, 2j: 6}}],
        deep,
        [0] * 1000,
        {"z": 1, "a": 2},
    ]
    found = [Case("%s %d" % (type(value).__name__, i), value) for i, value in enumerate(sent)]
    found += [Case("nested %d" % i, nested(random.Random(i), 4)) for i in range(40)]
    found += [
        Case("2**63", 2**63, refused="int: expected"),
        Case("-2**63-1", -(2**63) - 1, refused="int: expected"),
        Case("2**20000", 2**20000, refused="int: expected"),
        Case("surrogate", "a\udcffb", refused="str: expected"),
        Case("surrogate in a key", {"a\udcff": 1}, refused="str: expected"),
        Case("9 MiB of text", "x" * (9 << 20), refused="call of trip.answer: expected values"),
        Case("33 deep", [[deep]], refused="value: expected at most 32 levels"),
        Case("recursive", recursive, refused="value: expected at most 32 levels"),
        Case("bytearray", bytearray(b"ab"), plain=b"ab"),
        Case("element type", ElementType(6), plain=None if torch is None else torch.float32),
        Case("element type that torch lacks", ElementType(44), plain=torch.float8_e8m0fnu if has_newest else None),
        Case("element type that does not travel", ElementType(12), refused="element type: expected"),
        Case("device", DeviceName("cuda", 1), plain=None if torch is None else torch.device("cuda:1")),
        Case("device that no library has", DeviceName("abacus", -1)),
        Case("device beyond a byte", DeviceName("cpu", 128), refused="device: expected"),
    ]
    others = [
        {1},
        frozenset((1,)),
        Colour.RED,
        Word("w"),
        Point(1, 2),
        collections.OrderedDict(a=1),
        collections.defaultdict(list),
        collections.Counter("aa"),
        collections.deque([1]),
        decimal.Decimal("1.10"),
        fractions.Fraction(1, 3),
        datetime.date(2020, 1, 2),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
        datetime.timedelta(1, 2, 3),
        range(3),
        slice(1, 2),
        Ellipsis,
        int,
        len,
    ]
    found += [Case(repr(value)[:40], value, refused="value: expected") for value in others]
    found += [Case("inside: %s" % case.name, [{"k": (case.value,)}], refused=case.refused) for case in found[-5:]]
    found.append(Case("key of another class", {datetime.date(2020, 1, 2): 1}, refused="value: expected"))
    return found


def nested(chance: random.Random, depth: int) -> Any:
    """A random value within the limits."""
    kind = chance.randrange(11 if depth else 8)
    if kind == 0:
        return chance.choice((None, True, False))
    if kind <= 2:
        return chance.getrandbits(chance.randrange(1, 64)) * chance.choice((1, -1))
    if kind == 3:
        return chance.uniform(-1, 1) * 10 ** chance.randrange(-300, 300)
    if kind == 4:
        return complex(chance.random(), -chance.random())
    if kind <= 6:
        return "".join(chr(chance.choice((65, 233, 0x4E2D, 0x1F600))) for _ in range(chance.randrange(9)))
    if kind == 7:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(9)))
    elements = [nested(chance, depth - 1) for _ in range(chance.randrange(5))]
    if kind == 10:
        return {"k%d" % i: each for i, each in enumerate(elements)}
    return elements if kind == 8 else tuple(elements)


def views() -> List[Case]:
    """What a pickle never takes."""
    found = [
        Case("memoryview", memoryview(b"ab"), plain=b"ab"),
        Case("memoryview of signed bytes", memoryview(b"ab").cast("b"), plain=b"ab"),
        Case("memoryview of ints", memoryview(bytes(8)).cast("i"), refused="value: expected a memoryview of bytes"),
        Case("memoryview 2-d", memoryview(bytes(4)).cast("B", (2, 2)), refused="value: expected a memoryview of bytes"),
        Case("object", object(), refused="value: expected"),
        Case("lock", threading.Lock(), refused="value: expected"),
        Case("generator", (i for i in ()), refused="value: expected"),
    ]
    return found


def numpy_cases() -> List[Case]:
    import numpy

    found = []
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"):
        for order in "<>":
            kind = numpy.dtype(name).newbyteorder(order)
            high = 2 if name == "?" else 100
            flat = numpy.arange(24, dtype="i8").__mod__(high).astype(kind)
            if kind.kind in "iu":
                flat[0], flat[1] = numpy.iinfo(kind).min, numpy.iinfo(kind).max
            if kind.kind in "fc":
                flat[:3] = numpy.array([numpy.nan, -0.0, numpy.inf])
            found += [Case("%s %s" % (kind.str, layout), array) for layout, array in _layouts(flat)]
            large = numpy.resize(flat, 3000)
            found += [Case("%s large" % kind.str, large), Case("%s large, every second" % kind.str, large[::-2])]
            scalar = flat[5]
            found.append(Case("scalar of %s" % kind.str, scalar, plain=scalar.item()))
    found += [
        Case("uint64 beyond int", numpy.uint64(2**64 - 1), refused="int: expected"),
        Case("longdouble", numpy.longdouble("0.1"), refused="value: expected"),
        Case("str_", numpy.str_("x"), plain="x"),
        Case("bytes_", numpy.bytes_(b"x"), plain=b"x"),
        Case("datetime64", numpy.datetime64("2020-01-01T00:00:00.123456789"), refused="value: expected"),
        Case("timedelta64", numpy.timedelta64(5, "s"), refused="value: expected"),
        Case("void scalar", numpy.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])[0], refused="value: expected"),
        Case("masked", numpy.ma.masked_array([1, 2, 3], [0, 1, 0]), refused="value: expected"),
        Case("matrix", numpy.array([[1, 2]]).view(numpy.matrix), refused="value: expected"),
        Case("recarray", numpy.rec.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]), refused="value: expected"),
        Case("chararray", numpy.array(["a"]).view(numpy.char.chararray), refused="value: expected"),
        Case("list of arrays", [numpy.arange(3), {"a": (numpy.ones((2, 2)),)}]),
        Case("the same array twice", [found[0].value] * 2),
    ]
    arrays = [
        numpy.array(["2020-01-01"], "M8[D]"),
        numpy.array([5], ">m8[s]"),
        numpy.array([(1, 2.0)], [("a", ">i4"), ("b", "f8")]),
        numpy.array([None, 1, "a"]),
        numpy.array(["a", "bc"]),
        numpy.array([b"a"]),
        numpy.array([1], numpy.longdouble),
        numpy.zeros(600, numpy.longdouble),
        numpy.zeros(600, [("a", ">i4"), ("b", "f8")]),
        numpy.zeros(3, "V5"),
    ]
    found += [Case("array of %s" % array.dtype, array, refused="numpy array: expected") for array in arrays]
    return found


def _layouts(flat: Any) -> List[Tuple[str, Any]]:
    import numpy

    square = flat.reshape(4, 6)
    readonly = flat.copy()
    readonly.flags.writeable = False
    return [
        ("flat", flat),
        ("0-d", numpy.array(flat[3], flat.dtype)),
        ("rows", square),
        ("columns", numpy.asfortranarray(square)),
        ("3-d columns", numpy.asfortranarray(flat.reshape(2, 3, 4))),
        ("transposed 3-d", flat.reshape(2, 3, 4).transpose(1, 0, 2)),
        ("reversed", flat[::-1]),
        ("one, reversed", flat[:1][::-1]),
        ("every second", square[::2, ::3]),
        ("broadcast", numpy.broadcast_to(flat[:6], (3, 6))),
        ("empty", flat[:0]),
        ("empty 2-d", numpy.zeros((0, 3), flat.dtype)),
        ("empty columns", numpy.zeros((2, 0, 3), flat.dtype, "F")),
        ("read-only", readonly),
    ]


def torch_cases() -> List[Case]:
    import torch

    values = torch.arange(12).reshape(3, 4)
    kinds = (
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
        torch.bool,
    )
    found = [Case("tensor of %s" % kind, values.to(kind)) for kind in kinds]
    found += [Case("transposed tensor of %s" % kind, values.to(kind).t()) for kind in kinds]
    found += [Case("element type %s" % kind, [kind, (kind,)]) for kind in kinds]
    found += [
        Case("0-d tensor", torch.tensor(2.5)),
        Case("empty tensor", torch.empty(0, 3)),
        Case("expanded tensor", torch.ones(1, 3).expand(4, 3)),
        Case("conjugate", torch.tensor([1 + 2j]).conj()),
        Case("tensor that requires a gradient", torch.ones(2, requires_grad=True)),
        Case("coordinate form", torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.5, 2.5], (2, 3))),
        Case("coalesced", torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.5, 2.5], (2, 3)).coalesce()),
        Case("size", torch.ones(2, 3).size(), plain=(2, 3)),
        Case("parameter", torch.nn.Parameter(torch.ones(2)), plain=torch.ones(2, requires_grad=True)),
        Case("devices", [torch.device("cpu"), {"on": torch.device("cuda", 1)}, torch.device("meta")]),
        Case("qint8", torch.qint8, refused="value: expected"),
        Case("layout", torch.strided, refused="value: expected"),
        Case("memory format", torch.channels_last, refused="value: expected"),
        Case("quantized", torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8), refused="tensor: expected"),
    ]
    return found


# The caller's side


def check_named(call: Callable[..., Any], count: Callable[[], int], more: bool = True) -> List[str]:
    """Sends each value through ``call(x=value)`` and returns what was not as it should be.

    :param count: calls that the other side has received
    """
    wrong = []
    accepted = count()
    for case in cases() + (views() if more else []):
        try:
            result = call(x=case.value)
        except Exception as e:
            if not case.refused or not str(e).startswith(case.refused) or not _is_named(e):
                wrong.append("%s: %s: %s" % (case.name, type(e).__name__, str(e)[:300]))
            continue
        accepted += 1
        expected = text_of(case.value if case.plain is None else case.plain, False)
        found = text_of(result["x"], False)
        if case.refused:
            wrong.append("%s: expected that it is refused, found %s" % (case.name, found))
        elif (result["seen"], found) != (expected, expected):
            wrong.append("%s: expected %s, seen as %s, back as %s" % (case.name, expected, result["seen"], found))
    if count() != accepted:
        wrong.append("expected %d calls, found that %d have arrived" % (accepted, count()))
    return wrong


def _is_named(error: BaseException) -> bool:
    """Whether an error is of the client, and not one that Python or a library raised inside it."""
    return type(error) in (TypeError, ValueError)


def check_pickled(call: Callable[..., Any]) -> List[str]:
    """Sends each value through ``call(echo, value)``, pickled, and returns what was not as it should be."""
    wrong = []
    for case in cases():
        try:
            result, seen = call(echo, case.value)
            expected = text_of(case.value, True)
            # numpy's own pickles of some arrays are in native order
            restored = text_of(pickle.loads(pickle.dumps(case.value, 5)), True)
        except Exception as e:
            wrong.append("%s: %s: %s" % (case.name, type(e).__name__, str(e)[-300:]))
            continue
        found = text_of(result, True)
        is_equal = text_of(result, False) == text_of(case.value, False)
        if seen != found or found not in (expected, restored) or not is_equal:
            wrong.append("%s: expected %s, seen as %s, back as %s" % (case.name, expected, seen, found))
    for case in views():
        if case.name == "object":
            continue
        try:
            call(echo, case.value)
            wrong.append("%s: expected that it can't be pickled" % case.name)
        except (TypeError, AttributeError) as e:
            if "pickle" not in str(e):
                wrong.append("%s: %s" % (case.name, e))
    return wrong


# Times

UNLIMITED = (None, 0, float("inf"), 1e12, 10**400)
SHORT = 0.0004


def check_times(entry: Callable[[Any, Callable[..., Any]], Any], minus_one: str, below: str) -> List[str]:
    """Calls ``entry(timeout, function)`` with each time and returns what was not as it should be.

    :param entry: calls a function of this module, or of operator, without arguments
    :param minus_one: ``default``, or the class of the error
    :param below: the class of the error for other negative times
    """
    from waybill.errors import CallTimeout

    wrong = []

    def outcome(timeout: Any, function: Callable[..., Any]) -> str:
        try:
            entry(timeout, function)
            return ""
        except CallTimeout:
            return "CallTimeout"
        except Exception as e:
            return type(e).__name__ if "timeout" in str(e) else "%s: %s" % (type(e).__name__, e)

    expected = [(timeout, received, "") for timeout in UNLIMITED]
    expected += [
        (SHORT, wait_for_gate, "CallTimeout"),
        (float("nan"), received, "ValueError"),
        (-1, received, "" if minus_one == "default" else minus_one),
        (-0.5, received, below),
        (float("-inf"), received, below),
        ("1", received, "TypeError"),
        (datetime.timedelta(seconds=1), received, "TypeError"),
        (object(), received, "TypeError"),
    ]
    for timeout, function, kind in expected:
        found = outcome(timeout, function)
        if found != kind:
            wrong.append("timeout %r: expected %s, found %s" % (timeout, kind or "a result", found or "a result"))
    return wrong


def rpc_entries(to: str) -> Dict[str, Callable[[Any, Callable[..., Any]], Any]]:
    """The entries of the surface that take a timeout for a call."""
    from waybill import rpc

    def of_reference(mode: str) -> Callable[[Any, Callable[..., Any]], Any]:
        def call(timeout: Any, function: Callable[..., Any]) -> Any:
            proxy = getattr(rpc.remote(to, Holder, args=(function,)), mode)(timeout=timeout)
            result = proxy.run()
            return result.wait() if mode == "rpc_async" else result

        return call

    return {
        "rpc_sync": lambda timeout, function: rpc.rpc_sync(to, function, timeout=timeout),
        "rpc_async": lambda timeout, function: rpc.rpc_async(to, function, timeout=timeout).wait(),
        "to_here": lambda timeout, function: rpc.remote(to, function).to_here(timeout=timeout),
        "rref.rpc_sync": of_reference("rpc_sync"),
        "rref.rpc_async": of_reference("rpc_async"),
    }


class Holder:
    """An object whose method calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def run(self) -> Any:
        return self._function()


def import_libraries(names: str) -> None:
    """Imports libraries, separated by commas, and has others not be found unless they are imported."""
    for name in ("numpy", "torch"):
        if name in names.split(","):
            __import__(name)
        elif name not in sys.modules:
            sys.modules[name] = None  # type: ignore[assignment]

