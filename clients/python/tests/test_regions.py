import errno
import gc
import mmap
import os
import random
import unittest
from typing import Dict, List
from unittest import mock

from waybill.errors import ProtocolError
from waybill.regions import InRegion, OutRegion


class RegionsTest(unittest.TestCase):
    def test_no_storage_is_written_into_another(self) -> None:
        chance = random.Random(3)
        region = OutRegion()
        held: Dict[int, bytes] = {}
        for step in range(2000):
            if held and chance.random() < 0.5:
                position = chance.choice(list(held))
                self.assertEqual(
                    os.pread(region.fd, len(held[position]), position), held.pop(position), "step %d" % step
                )
                region.release(position)
            else:
                content = bytes([step % 256]) * chance.choice([1, 64, 65, 5000, 200000])
                held[region.write(memoryview(chance.choice([bytes, bytearray])(content)))] = content
        for position in list(held):
            region.release(position)
        self.assertEqual(region.in_use(), 0)
        self.assertEqual(len(region._free), 1)
        self.assertLess(os.fstat(region.fd).st_size, 64 << 20)
        region.close()

    def test_a_storage_is_whole_where_another_one_was_and_where_none_was(self) -> None:
        region = OutRegion()
        first = region.write(memoryview(bytes(9 << 20)))
        region.release(first)
        for kind in (bytes, bytearray):
            content = bytes(range(256)) * (40 << 10)
            position = region.write(memoryview(kind(content)))
            self.assertEqual(os.pread(region.fd, len(content), position), content, kind.__name__)
            region.release(position)
        region.close()

    def test_a_storage_is_written_where_the_file_can_not_be_mapped(self) -> None:
        region = OutRegion()
        region.release(region.write(memoryview(bytes(6))))
        with mock.patch.object(mmap, "mmap", side_effect=OSError(errno.ENOMEM, "Cannot allocate memory")) as tried:
            position = region.write(memoryview(b"abcdef"))
        tried.assert_called_once()
        self.assertEqual(os.pread(region.fd, 6, position), b"abcdef")
        region.close()

    def test_a_storage_is_released_once(self) -> None:
        region = OutRegion()
        position = region.write(memoryview(b"x"))
        region.release(position)
        for wrong in (position, 7):
            with self.assertRaisesRegex(ProtocolError, "found %d" % wrong):
                region.release(wrong)
        region.close()

    def test_received_bytes_are_released_when_the_last_view_is_gone(self) -> None:
        released: List[int] = []
        region = InRegion(released.append)
        os.pwrite(region.fd, b"abcdef", 64)
        view = region.view(64, 6)
        part = view[2:4]
        del view
        gc.collect()
        self.assertEqual((released, bytes(part)), ([], b"cd"))
        del part
        gc.collect()
        self.assertEqual(released, [64])
        region.close()

    def test_a_file_that_is_too_short_is_refused(self) -> None:
        region = InRegion(lambda _: None)
        os.pwrite(region.fd, bytes(10), 0)
        with self.assertRaisesRegex(ProtocolError, "at least 74 bytes, found 10"):
            region.view(64, 10)
        region.close()

    def test_views_stay_when_the_file_grows_and_when_it_is_closed(self) -> None:
        region = InRegion(lambda _: None)
        os.pwrite(region.fd, b"first", 0)
        first = region.view(0, 5)
        os.pwrite(region.fd, b"second", 1 << 20)
        second = region.view(1 << 20, 6)
        region.close()
        self.assertEqual((bytes(first), bytes(second)), (b"first", b"second"))


if __name__ == "__main__":
    unittest.main()
