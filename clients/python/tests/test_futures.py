import threading
import unittest
from typing import Any, List

from waybill.futures import Future, collect_all, wait_all


class FuturesTest(unittest.TestCase):
    def test_then_has_the_value_of_its_callback(self) -> None:
        future: "Future[int]" = Future()
        chained = future.then(lambda f: f.value() + 1).then(lambda f: f.wait() * 10)
        future.set_result(1)
        self.assertEqual((future.wait(), chained.wait()), (1, 20))

    def test_an_error_is_raised_at_every_wait_and_in_callbacks(self) -> None:
        future: "Future[int]" = Future()
        chained = future.then(lambda f: f.wait())
        future.set_exception(KeyError("x"))
        for _ in range(2):
            with self.assertRaises(KeyError):
                future.wait()
        with self.assertRaises(KeyError):
            chained.wait()

    def test_it_is_completed_once(self) -> None:
        future: "Future[int]" = Future()
        future.set_result(1)
        with self.assertRaisesRegex(RuntimeError, "only be marked completed once"):
            future.set_result(2)
        self.assertEqual(future.value(), 1)

    def test_a_thread_that_waits_is_woken(self) -> None:
        future: "Future[int]" = Future()
        found: List[Any] = []
        thread = threading.Thread(target=lambda: found.append(future.wait()))
        thread.start()
        future.set_result(7)
        thread.join(120)
        self.assertEqual(found, [7])

    def test_wait_ends_at_its_time(self) -> None:
        with self.assertRaises(TimeoutError):
            Future().wait(0.01)

    def test_wait_all_ends_at_the_first_error(self) -> None:
        never: "Future[int]" = Future()
        failed: "Future[int]" = Future()
        failed.set_exception(ValueError("no"))
        with self.assertRaises(ValueError):
            wait_all([never, failed])

    def test_all_values(self) -> None:
        futures: List["Future[int]"] = [Future() for _ in range(3)]
        together = collect_all(futures)
        for number, future in enumerate(futures):
            self.assertFalse(together.done())
            future.set_result(number)
        self.assertEqual([f.value() for f in together.wait()], [0, 1, 2])
        self.assertEqual(wait_all(futures), [0, 1, 2])
        self.assertEqual(wait_all([]), [])


if __name__ == "__main__":
    unittest.main()
