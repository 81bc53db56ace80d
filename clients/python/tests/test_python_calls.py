import unittest
from typing import Any

from waybill import pickling, python_calls
from waybill.errors import CodeRefused
from waybill.frames import Message
from waybill.python_calls import RemoteException
from waybill.values import Invocation, decode_value, encode_invocation


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
