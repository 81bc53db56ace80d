import unittest
from typing import Any, List

from waybill import pickling, python_calls
from waybill.errors import CodeRefused
from waybill.frames import Message
from waybill.python_calls import RemoteException
from waybill.values import Invocation, decode_invocation, decode_value, encode_invocation


class Hostile:
    """An object whose attributes raise."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)


class Shaped:
    dtype = property(lambda self: 5)
    shape = property(lambda self: 5)


class NoText(Exception):
    def __init__(self) -> None:
        super().__init__()


class PythonCallsTest(unittest.TestCase):
    def test_what_values_are(self) -> None:
        values = [None, 5, 2.5, True, "a", b"\x00", [1, 2], {}, int, Hostile(), Shaped(), Shaped]
        texts = ["None", "int 5", "float 2.5", "bool True", "str 'a'", "bytes b'\\x00'", "list of 2", "dict of 0"]
        texts += ["class int", "Hostile", "Shaped", "class Shaped"]
        self.assertEqual([python_calls.describe(value) for value in values], texts)
        self.assertEqual(len(python_calls.describe("é" * 1000)), 64)

    def test_shows_small_plain_values_and_says_what_others_are(self) -> None:
        class Point:
            def __repr__(self) -> str:
                raise AssertionError("code of the program")

        plain = [None, True, 5, 2.5, "a", b"\0", [1, (2, {"b": 3})], {1: "x", None: 2}, "x" * 128, list(range(64))]
        def shown(value: Any) -> Any:
            message = python_calls.encode_call(print, (value,), {}, False, packed)
            return decode_invocation(message.payload).named["args"][0]

        packed = pickling.pack(None)
        for value in plain:
            self.assertEqual(shown(value), value)
        others = [
            (1 << 70, "<int %d>" % (1 << 70)),
            ("y" * 1000, "<str of 1000>"),
            ("a\udcffb", "a\\udcffb"),
            (b"z" * 1000, "<bytes of 1000>"),
            (list(range(65)), "<list of 65>"),
            ([list(range(40)), list(range(40))], [list(range(40)), "<list of 40>"]),
            ([[[[1]]]], [[["<list of 1>"]]]),
            (Point(), "<Point>"),
            ({1, 2}, "<set of 2>"),
            ({(1, 2): 3, b"k": 4}, {"<tuple of 2>": 3, "b'k'": 4}),
            ({frozenset([1]): 3, frozenset([2]): 4}, "<dict of 2>"),
            (int, "<class int>"),
        ]
        for value, text in others:
            self.assertEqual(shown(value), text)
        recursive: List[Any] = []
        recursive.append(recursive)
        self.assertEqual(shown(recursive), [[["<list of 1>"]]])

    def test_what_is_shown_of_a_call_is_short(self) -> None:
        args = (["é" * 100] * 30,) * 100
        message = python_calls.encode_call(print, args, {"k": "x"}, False, pickling.pack(None))
        call = decode_invocation(message.payload)
        self.assertEqual((len(call.named["args"]), call.named["kwargs"]), (32, {"k": "x"}))
        self.assertLess(len(message.payload), 8_000)

    def test_a_call_without_a_pickle_has_values_as_arguments(self) -> None:
        payload = encode_invocation(Invocation("math:ldexp", (0.5, 3), {}))
        call = python_calls.decode_call(Message(payload), pickling.unpack, False)
        self.assertTrue(call.plain)
        result = python_calls.encode_plain(call.function(*call.args, **call.kwargs))
        self.assertEqual(decode_value(result.payload), {"result": 4.0})
        with self.assertRaisesRegex(TypeError, "found object"):
            python_calls.encode_plain(object())

    def test_a_call_without_a_pickle_calls_functions_only(self) -> None:
        for name, error in (
            ("builtins:eval", CodeRefused),
            ("math:pi", AttributeError),
            ("math:none", AttributeError),
            ("no_module:f", ImportError),
            ("math", AttributeError),
            (":f", AttributeError),
        ):
            payload = encode_invocation(Invocation(name, ("1",), {}))
            with self.subTest(name=name), self.assertRaises(error):
                python_calls.decode_call(Message(payload), pickling.unpack, False)

    def test_a_call_returns_as_it_was(self) -> None:
        packed = pickling.pack((max, (1, 2), {"key": None}))
        message = python_calls.encode_call(max, (1, 2), {"key": None}, True, packed)
        call = python_calls.decode_call(message, pickling.unpack)
        self.assertEqual(
            (call.name, call.function, call.args, call.kwargs), ("builtins:max", max, (1, 2), {"key": None})
        )
        self.assertTrue(call.is_async)

    def test_a_call_that_says_that_it_contains_code_is_not_unpickled_where_none_may_come(self) -> None:
        payload = encode_invocation(Invocation("text:function", (), {"pickle": b"", "by_value": True}))
        unpickled = []
        with self.assertRaisesRegex(CodeRefused, "text:function"):
            python_calls.decode_call(Message(payload), lambda *_: unpickled.append(1), by_value=False)
        self.assertEqual(unpickled, [])

    def test_an_error_returns_with_its_class(self) -> None:
        error = python_calls.remote_exception(KeyError("k"), "WorkerInfo(id=1, name=w)")
        found, _ = python_calls.decode_result(python_calls.encode_error(error), pickling.unpack)
        self.assertEqual(found, error)
        with self.assertRaisesRegex(KeyError, "On WorkerInfo"):
            python_calls.raise_remote(found)

    def test_a_class_that_takes_no_text_stays_and_one_that_is_not_loaded_becomes_a_runtime_error(self) -> None:
        with self.assertRaisesRegex(NoText, "text"):
            python_calls.raise_remote(RemoteException("text", NoText))
        self.assertIs(python_calls.exception_class("no.such.module:Error"), RuntimeError)
        self.assertIs(python_calls.exception_class("builtins:SystemExit"), RuntimeError)


if __name__ == "__main__":
    unittest.main()
