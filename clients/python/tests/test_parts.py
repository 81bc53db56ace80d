import ctypes
import errno
import gc
import os
import tempfile
import threading
import time
import unittest
from typing import Any, List
from unittest import mock

from waybill import parts
from waybill.errors import ProtocolError, WorkerLost
from waybill.parts import Parts, Place

SIZE = 3 * parts._PAGE + 5


@unittest.skipUnless(parts.are_possible(), "the kernel is older than 5.14")
class PartsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "1.seg")
        with open(self.path, "wb") as file:
            file.write(b"a" * parts._PAGE + b"b" * 4 * parts._PAGE)
        self.released: List[int] = []
        self.connected = True
        self.parts = Parts(self.released.append, lambda: self.connected)
        self.place = Place(7, self.path, parts._PAGE, SIZE)

    def tearDown(self) -> None:
        self.parts.close()
        self.directory.cleanup()

    def file(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()

    def is_locked(self) -> bool:
        """Whether another open file would get no lock for writing on the part."""
        fd = os.open(self.path, os.O_RDWR)
        try:
            parts._lock(fd, parts.fcntl.F_WRLCK, parts._PAGE, SIZE)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(fd)

    def overwrite(self) -> None:
        with open(self.path, "r+b") as file:
            file.write(b"z" * 5 * parts._PAGE)

    def test_a_part_is_read_in_place_and_released_when_the_last_view_is_gone(self) -> None:
        view = self.parts.view(self.place)
        self.assertEqual(bytes(view), b"b" * SIZE)
        self.assertTrue(self.is_locked())
        part = view[2:4]
        del view
        gc.collect()
        self.assertEqual((self.released, bytes(part), self.parts.in_use()), ([], b"bb", 1))
        del part
        gc.collect()
        self.assertEqual((self.released, self.parts.in_use(), self.is_locked()), ([7], 0, False))

    def test_what_is_written_is_the_processs_own(self) -> None:
        view = self.parts.view(self.place)
        view[0] = ord("x")
        self.assertEqual(bytes(view[:2]), b"xb")
        self.assertEqual(self.file()[parts._PAGE : parts._PAGE + 2], b"bb")

    def test_what_is_kept_is_copied_and_released(self) -> None:
        view = self.parts.view(self.place)
        view[1] = ord("x")
        with mock.patch.object(parts, "_KEPT_SECONDS", 0):
            until = time.monotonic() + 60
            while not self.released and time.monotonic() < until:
                time.sleep(0.01)
        self.assertEqual((self.released, self.is_locked(), self.parts.in_use()), ([7], False, 0))
        self.overwrite()
        self.assertEqual(bytes(view), b"bx" + b"b" * (SIZE - 2))
        del view
        gc.collect()
        self.assertEqual(self.released, [7], "released once")

    def test_the_end_of_the_connection_copies_all(self) -> None:
        views = [self.parts.view(self.place._replace(number=number)) for number in range(3)]
        self.parts.close()
        self.overwrite()
        self.assertEqual([bytes(view) for view in views], [b"b" * SIZE] * 3)

    def test_a_fork_copies_all(self) -> None:
        view = self.parts.view(self.place)
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(self.released, [7])
        self.overwrite()
        self.assertEqual(bytes(view), b"b" * SIZE)

    def test_what_can_not_be_copied_stays_locked(self) -> None:
        view = self.parts.view(self.place)
        with mock.patch.object(parts, "_system", parts._system._replace(madvise=lambda *_: -1)):
            self.parts.copy_all()
            child = os.fork()
            if not child:
                del view
                gc.collect()
                os._exit(0)
            os.waitpid(child, 0)
        self.assertEqual((self.released, self.is_locked()), ([], True))
        del view
        gc.collect()
        self.assertEqual((self.released, self.is_locked()), ([7], False))

    def test_views_that_end_while_they_are_copied_are_released_once(self) -> None:
        for number in range(300):
            views = [self.parts.view(self.place._replace(number=number))]
            copying = threading.Thread(target=self.parts.copy_all)
            copying.start()
            views.clear()
            copying.join()
        gc.collect()
        self.assertEqual(sorted(self.released), list(range(300)))
        self.assertFalse(self.is_locked())

    def test_what_is_copied_twice_is_released_once(self) -> None:
        view = self.parts.view(self.place)
        received = self.parts._received[7]
        for _ in range(2):
            received.copy(self.released.append)
        self.assertEqual(self.released, [7])
        self.assertEqual(bytes(view[:1]), b"b")

    def test_a_part_is_not_used_when_the_gateway_has_ended(self) -> None:
        self.connected = False
        with self.assertRaisesRegex(WorkerLost, "before its response was read"):
            self.parts.view(self.place)
        self.assertEqual((self.released, self.is_locked()), ([7], False))

    def test_a_part_that_can_not_be_mapped_is_read(self) -> None:
        def refuse(*_: Any) -> None:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")

        for what in ("_map", "_lock"):
            with mock.patch.object(parts, what, refuse):
                view = self.parts.view(self.place)
            self.assertEqual((bytes(view), self.released), (b"b" * SIZE, [7]), what)
            self.released.clear()

    def test_a_lock_that_another_one_has_for_an_instant_is_waited_for(self) -> None:
        fd = os.open(self.path, os.O_RDWR)
        parts._lock(fd, parts.fcntl.F_WRLCK, parts._PAGE, SIZE)
        with mock.patch.object(parts, "_LOCK_ATTEMPTS", 60000):
            threading.Timer(0.05, os.close, (fd,)).start()
            self.assertEqual(bytes(self.parts.view(self.place)[:1]), b"b")

    def test_wrong_places_are_refused(self) -> None:
        for place, text in (
            (self.place._replace(size=5 * parts._PAGE), "at least %d bytes" % (6 * parts._PAGE)),
            (self.place._replace(path=self.path + "x"), "expected a file of the home"),
        ):
            with self.assertRaisesRegex(ProtocolError, text):
                self.parts.view(place)
        self.assertEqual(self.released, [7, 7])
        for content in (b"short", (5).to_bytes(8, "little") + b"/path"):
            with self.assertRaisesRegex(ProtocolError, "part: expected"):
                parts.place_of(7, SIZE, memoryview(content))
        with self.assertRaisesRegex(ProtocolError, "whole pages"):
            parts.place_of(7, 0, memoryview(bytes(8) + b"/path"))

    def test_storages_are_written_where_they_are_sent_from(self) -> None:
        for kind in (bytes, bytearray):
            content = bytes(os.urandom(SIZE))
            self.parts.write(self.place, memoryview(kind(content)))
            self.assertEqual(self.file()[parts._PAGE : parts._PAGE + SIZE], content, kind.__name__)
        self.assertFalse(self.parts.write(self.place._replace(path=self.path + "x"), memoryview(bytes(SIZE))))
        with self.assertRaisesRegex(ProtocolError, "at least"):
            self.parts.write(self.place._replace(size=5 * parts._PAGE), memoryview(bytes(5 * parts._PAGE)))

    def test_a_buffer_is_sent_where_it_is(self) -> None:
        buffer = self.parts.buffer(self.place)
        self.assertEqual(bytes(buffer), bytes(SIZE), "not what was there before")
        buffer[:3] = b"xyz"
        self.assertEqual(self.file()[parts._PAGE : parts._PAGE + 4], b"xyz\0")
        self.assertEqual(self.parts.buffer_of(buffer), 7)
        self.assertEqual(self.parts.buffer_of(buffer[:]), 7)
        for other in (buffer[1:], buffer[:-1], buffer.toreadonly(), memoryview(bytearray(SIZE))):
            self.assertIsNone(self.parts.buffer_of(other))
        self.assertEqual(self.released, [])
        del buffer, other
        gc.collect()
        self.assertEqual((self.released, self.parts._buffers), ([7], {}))
        self.assertNotIn(self.path, _mapped())

    def test_a_buffer_is_one_of_the_process_where_it_can_not_be_mapped(self) -> None:
        buffer = self.parts.buffer(self.place._replace(path=self.path + "x"))
        self.assertEqual((bytes(buffer), self.released), (bytes(SIZE), [7]))
        self.assertIsNone(self.parts.buffer_of(buffer))

    def test_a_buffer_is_not_sent_by_another_connection(self) -> None:
        buffer = self.parts.buffer(self.place)
        buffer[0] = 1
        self.parts.close()
        self.assertIsNone(self.parts.buffer_of(buffer))
        self.assertEqual(bytes(buffer[:2]), b"\1\0")

    def test_a_file_is_not_held_when_it_is_not_used(self) -> None:
        self.parts.write(self.place, memoryview(bytearray(SIZE)))
        self.assertIn(self.path, _mapped())
        with mock.patch.object(parts, "_KEPT_SECONDS", 0):
            until = time.monotonic() + 60
            while self.path in _mapped() and time.monotonic() < until:
                time.sleep(0.01)
        self.assertNotIn(self.path, _mapped())

    def test_the_end_of_the_connection_gives_up_a_file_that_is_not_used(self) -> None:
        self.parts.write(self.place, memoryview(bytearray(SIZE)))
        self.assertIn(self.path, _mapped())
        self.parts.close()
        self.assertNotIn(self.path, _mapped())

    def test_no_thread_is_left_without_a_part(self) -> None:
        with mock.patch.object(parts, "_KEPT_SECONDS", 0):
            self.parts.view(self.place)
            until = time.monotonic() + 60
            while self.parts._watched and time.monotonic() < until:
                time.sleep(0.01)
        self.assertFalse(self.parts._watched)
        self.assertNotIn("waybill-parts", [thread.name for thread in threading.enumerate() if thread.is_alive()])


def _mapped() -> str:
    with open("/proc/self/maps") as file:
        return file.read()


class PossibleTest(unittest.TestCase):
    def test_parts_need_a_kernel_that_copies_mappings(self) -> None:
        def refuse(*_: Any) -> int:
            ctypes.set_errno(errno.EINVAL)
            return -1

        with mock.patch.object(parts, "_system", parts._system._replace(madvise=refuse)):
            self.assertFalse(parts.are_possible())


if __name__ == "__main__":
    unittest.main()
