import random
import unittest
from typing import Any

from waybill import frames
from waybill.errors import MalformedError, ProtocolError
from waybill.frames import Call, Message, Reference, Result
from waybill.tensors import Descriptor


def no_region(position: int, size: int) -> Any:
    raise ProtocolError("no region")


def sent(message: Message, prefix: bytes) -> bytearray:
    places = [frames.INLINED] * len(message.storages)
    pieces = frames.message_frame(frames.CALL, 7, prefix, message, places, frames.MAX_FRAME)
    return bytearray(b"".join(pieces))[frames.HEAD.size :]


TENSORS = Message(
    b"payload",
    [Descriptor(6, 1, (2, 3), (3, 1), 0, 0), Descriptor(0, 0, (5,), (1,), 0, 1)],
    [memoryview(bytearray(24)), memoryview(bytearray(b"bytes"))],
    [Reference(9, 3, 2)],
)


class FramesTest(unittest.TestCase):
    def test_a_message_returns_as_it_was(self) -> None:
        prefix = frames.call_prefix(Call(frames.PYTHON_CALL, 1, 0, "worker1", 5, -1))
        body = memoryview(sent(TENSORS, prefix))
        call, at = frames.read_call(body)
        self.assertEqual(call, Call(frames.PYTHON_CALL, 1, 0, "worker1", 5, -1))
        message = frames.read_message(body, at, no_region)
        self.assertEqual(bytes(message.payload), b"payload")
        self.assertEqual(message.descriptors, TENSORS.descriptors)
        self.assertEqual([bytes(s) for s in message.storages], [bytes(24), b"bytes"])
        self.assertEqual(message.references, TENSORS.references)

    def test_the_length_in_the_head_is_that_of_the_body(self) -> None:
        places = [frames.INLINED] * 2
        whole = b"".join(frames.message_frame(frames.RESULT, 7, b"x" * 16, TENSORS, places, frames.MAX_FRAME))
        length, kind, _, _, exchange = frames.HEAD.unpack(whole[:16])
        self.assertEqual((length, kind, exchange), (len(whole) - 16, frames.RESULT, 7))

    def test_a_result_and_an_error_return_as_they_were(self) -> None:
        result = Result(frames.PYTHON_RET, 1, 3, 12)
        self.assertEqual(frames.read_result(memoryview(frames.result_prefix(result))), (result, 16))
        body = memoryview(frames.failed(3, 2004, 1, "lost"))[16:]
        self.assertEqual(frames.read_failed(body), (2004, 1, "lost", None))
        body = memoryview(frames.failed(3, 1001, 0, "thrown", (2004, 1 << 48 | 7)))[16:]
        self.assertEqual(frames.read_failed(body), (1001, 0, "thrown", (2004, 1 << 48 | 7)))

    def test_a_storage_outside_the_body_is_refused(self) -> None:
        body = sent(TENSORS, b"")
        body[12:20] = (1 << 40).to_bytes(8, "little")
        with self.assertRaisesRegex(ProtocolError, "expected 1099511627776 bytes"):
            frames.read_message(memoryview(body), 0, no_region)

    def test_a_tensor_beyond_its_storage_is_refused(self) -> None:
        wide = TENSORS._replace(descriptors=[Descriptor(6, 0, (2, 4), (3, 1), 0, 0)])
        with self.assertRaisesRegex(ProtocolError, "in a storage of 24 bytes, found bytes 0 to 28"):
            frames.read_message(memoryview(sent(wide, b"")), 0, no_region)
        negative = TENSORS._replace(descriptors=[Descriptor(6, 0, (2,), (-1,), 0, 0)])
        with self.assertRaisesRegex(ProtocolError, "found bytes -4 to 4"):
            frames.read_message(memoryview(sent(negative, b"")), 0, no_region)

    def test_a_message_over_the_limit_is_not_sent(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected at most 100 bytes"):
            frames.message_frame(frames.CALL, 1, b"", Message(bytes(200)), (), 100)

    def test_damaged_frames_are_refused_and_nothing_else_happens(self) -> None:
        chance = random.Random(7)
        whole = sent(TENSORS, frames.call_prefix(Call(frames.PYTHON_CALL, 0, 0, "w", 0, 0)))
        refused = 0
        for _ in range(20000):
            body = bytearray(whole[: chance.randrange(len(whole) + 1)])
            for _ in range(chance.randrange(4)):
                if body:
                    body[chance.randrange(len(body))] = chance.randrange(256)
            try:
                _, at = frames.read_call(memoryview(body))
                frames.read_message(memoryview(body), at, no_region)
            except (ProtocolError, MalformedError):
                refused += 1
        self.assertGreater(refused, 10000)


if __name__ == "__main__":
    unittest.main()
