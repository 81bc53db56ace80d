import unittest

from waybill.errors import MalformedError
from waybill.tensors import ELEMENT_TYPES
from waybill.values import ELEMENT_CODES, DeviceName, ElementType, Invocation, ReferenceIndex, TensorIndex
from waybill.values import decode_invocation, decode_value, encode_invocation, encode_value

# docs/reference/values.md has these bytes
EXAMPLE = bytes.fromhex(
    "0a00 746578742e636f756e74 00000000 01000000 0604000000 74657874 0605000000 746f206265".replace(" ", "")
)


class ValuesTest(unittest.TestCase):
    def test_the_example_of_the_reference(self) -> None:
        call = Invocation("text.count", (), {"text": "to be"})
        self.assertEqual(encode_invocation(call), EXAMPLE)
        self.assertEqual(decode_invocation(EXAMPLE), call)

    def test_every_kind_returns_as_it_was(self) -> None:
        value = [
            None,
            True,
            False,
            -5,
            2.5,
            1 - 2j,
            "é",
            b"\x00\xff",
            (1, [2]),
            {"a": {1: ()}},
            TensorIndex(3),
            ReferenceIndex(4),
        ]
        self.assertEqual(decode_value(encode_value(value)), value)

    def test_devices_and_element_types_are_read(self) -> None:
        self.assertEqual(decode_value(b"\x0c\xff\x04cuda"), DeviceName("cuda", -1))
        self.assertEqual(decode_value(b"\x0d\x06"), ElementType(6))
        for value in (DeviceName("cuda", -1), DeviceName("cpu", 127), ElementType(6)):
            self.assertEqual(decode_value(encode_value(value)), value)
        self.assertEqual(sorted(ELEMENT_CODES), [code for code, _, _ in ELEMENT_TYPES])

    def test_async_is_bit_15_of_the_name(self) -> None:
        call = Invocation("f", (1,), {}, True)
        self.assertEqual(encode_invocation(call)[:2], b"\x01\x80")
        self.assertEqual(decode_invocation(encode_invocation(call)), call)

    def test_an_unknown_object_is_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "found object"):
            encode_value(object())

    def test_every_prefix_is_refused(self) -> None:
        for length in range(len(EXAMPLE)):
            with self.assertRaises(MalformedError, msg="the first %d bytes" % length):
                decode_invocation(EXAMPLE[:length])

    def test_a_count_beyond_the_bytes_is_refused_before_anything_is_made(self) -> None:
        with self.assertRaisesRegex(MalformedError, "expected at most 0 elements, found 4294967295"):
            decode_value(b"\x09\xff\xff\xff\xff")

    def test_bytes_behind_the_value_are_refused(self) -> None:
        with self.assertRaisesRegex(MalformedError, "found 1 bytes"):
            decode_value(b"\x00\x00")

    def test_depth_is_limited_on_both_sides(self) -> None:
        value: object = []
        for _ in range(40):
            value = [value]
        with self.assertRaisesRegex(ValueError, "32 levels"):
            encode_value(value)
        with self.assertRaisesRegex(MalformedError, "32 levels"):
            decode_value(b"\x09\x01\x00\x00\x00" * 40 + b"\x00")

    def test_double_keys_are_refused(self) -> None:
        with self.assertRaisesRegex(MalformedError, "distinct keys"):
            decode_value(b"\x0b\x02\x00\x00\x00" + b"\x01\x00" * 2)


if __name__ == "__main__":
    unittest.main()
