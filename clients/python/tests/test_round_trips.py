import importlib.util
import threading
import unittest
from typing import Any, List

import waybill
from tests import group, round_trips
from waybill import rpc, timeouts
from waybill.futures import Future

NAMES = [name for name in ("numpy", "torch") if importlib.util.find_spec(name) is not None]


def _join(rank: int, names: str) -> None:
    round_trips.import_libraries(names)
    if rank == 1:
        for function in (round_trips.answer, round_trips.received, round_trips.wait_for_gate):
            waybill.operation("trip." + function.__name__)(function)
        waybill.connect("answers")
    rpc.init_rpc("worker%d" % rank, rank=rank, world_size=2)


def _leave(rank: int) -> None:
    if rank == 0:
        rpc.rpc_sync("worker1", round_trips.open_gate)
    rpc.shutdown()


def values(rank: int, names: str) -> List[str]:
    _join(rank, names)
    wrong = []
    if rank == 0:
        ways = {
            "rpc_sync": lambda function, value: rpc.rpc_sync("worker1", function, args=(value,)),
            "rpc_async": lambda function, value: rpc.rpc_async("worker1", function, kwargs={"x": value}).wait(),
            "remote": lambda function, value: rpc.remote("worker1", function, args=(value,)).to_here(),
        }
        found = {way: round_trips.check_pickled(call) for way, call in ways.items()}
        found["call"] = round_trips.check_named(
            lambda **fields: waybill.call("trip.answer", to="answers", **fields),
            lambda: waybill.call("trip.received", to="answers").get("answer", 0),
        )
        wrong = ["%s: %s" % (way, text) for way, texts in found.items() for text in texts]
    _leave(rank)
    return wrong


def times(rank: int, names: str) -> List[str]:
    _join(rank, names)
    wrong = []
    if rank == 0:
        for name, entry in round_trips.rpc_entries("worker1").items():
            wrong += ["%s: %s" % (name, text) for text in round_trips.check_times(entry, "default", "CallTimeout")]

        def call(timeout: Any, function: Any) -> Any:
            return waybill.call("trip." + function.__name__, to="answers", timeout=timeout)

        wrong += ["call: %s" % text for text in round_trips.check_times(call, "ValueError", "ValueError")]

        def default(timeout: Any, function: Any) -> Any:
            rpc._set_rpc_timeout(timeout)
            return rpc.rpc_sync("worker1", function)

        wrong += ["default: %s" % text for text in round_trips.check_times(default, "ValueError", "ValueError")]
        rpc._set_rpc_timeout(60)
        for timeout in (float("nan"), -0.5, "1"):
            try:
                rpc.shutdown(timeout=timeout)
                wrong.append("shutdown: expected that %r is refused" % (timeout,))
            except (TypeError, ValueError) as e:
                if "timeout" not in str(e):
                    wrong.append("shutdown: %s" % e)
    _leave(rank)
    return wrong


def many_tensors(rank: int, names: str) -> List[Any]:
    _join(rank, names)
    found: List[Any] = []
    if rank == 0:
        for count in (1025, 5000):
            tensors = round_trips.many(count)
            found.append(rpc.rpc_sync("worker1", round_trips.sum_of, args=(tensors,)))
            found.append(round_trips.sum_of(rpc.rpc_sync("worker1", round_trips.many, args=(count,))))
        try:
            rpc.rpc_sync("worker1", round_trips.sum_of, args=(round_trips.many(40000),))
        except ValueError as e:
            found.append(str(e))
        try:
            rpc.rpc_sync("worker1", round_trips.many, args=(40000,))
        except RuntimeError as e:
            found.append(str(e))
        found.append(len(rpc.rpc_sync("worker1", round_trips.many, args=(2,))))
    _leave(rank)
    return found


def long_pickles(rank: int, names: str) -> List[int]:
    _join(rank, names)
    found = []
    if rank == 0:
        for size in ((1 << 16) - 100, 1 << 16, 100 << 20):
            result, _ = rpc.rpc_sync("worker1", round_trips.echo, args=(round_trips.long_text(size),))
            found.append(len(result["text"]))
    _leave(rank)
    return found


class RoundTripsTest(unittest.TestCase):
    def test_values_arrive_as_they_were_sent_or_are_refused_by_name(self) -> None:
        for names in sorted({"", "numpy" if "numpy" in NAMES else "", ",".join(NAMES)}):
            with self.subTest(libraries=names):
                self.assertEqual("\n".join(group.run(values, 2, names)[0]), "")

    def test_times_mean_the_same_at_every_entry(self) -> None:
        self.assertEqual("\n".join(group.run(times, 2, "")[0]), "")

    @unittest.skipUnless(NAMES, "needs numpy or torch")
    def test_five_thousand_tensors_travel_and_more_than_a_message_has_are_refused(self) -> None:
        found = group.run(many_tensors, 2, ",".join(NAMES))[0]
        sums = [float(sum(range(count))) for count in (1025, 1025, 5000, 5000)]
        self.assertEqual(found[:4] + found[6:], sums + [2])
        for text in found[4:6]:
            self.assertRegex(text, "expected at most 32768 tensors, found 4000[01]")

    def test_a_long_pickle_travels(self) -> None:
        self.assertEqual(group.run(long_pickles, 2, "")[0], [(1 << 16) - 100, 1 << 16, 100 << 20])

    def test_options_refuse_times_by_name(self) -> None:
        for timeout, kind in ((float("nan"), ValueError), ("1", TypeError), (None, TypeError), (-1, RuntimeError)):
            with self.subTest(timeout=timeout), self.assertRaisesRegex(kind, "(?i)timeout"):
                rpc.WaybillRpcBackendOptions(rpc_timeout=timeout)  # type: ignore[arg-type]
        self.assertEqual(rpc.WaybillRpcBackendOptions(rpc_timeout=10**400).rpc_timeout, float("inf"))

    def test_a_future_waits_as_long_as_it_is_told(self) -> None:
        for timeout in (0, 0.0004):
            with self.subTest(timeout=timeout), self.assertRaises(TimeoutError):
                Future().wait(timeout)
        for timeout in (float("nan"), -1):
            with self.subTest(timeout=timeout), self.assertRaisesRegex(ValueError, "timeout: expected"):
                Future().wait(timeout)
        for timeout in (None, float("inf"), 1e12):
            future: "Future[int]" = Future()
            threading.Timer(0.01, future.set_result, (1,)).start()
            self.assertEqual(future.wait(timeout), 1)

    def test_a_time_that_is_not_zero_is_a_limit(self) -> None:
        found = [timeouts.to_ns(each) for each in (5e-324, 0.0004, 0.0019, 1, 60.5, 1e9, 4e9, 5e9, 1e300)]
        expected = [1, 400000, 1900000, 10**9, 60500000000, 10**18, 4 * 10**18, 0, 0]
        self.assertEqual(found, expected)
        self.assertEqual([timeouts.to_ns(each) for each in (-5e-324, -1, -1e300)], [-1, -(10**9), -(1 << 62)])
        self.assertEqual([timeouts.in_ms(each) for each in (1, 400000, 10**6, 1900000, -500000000)], [1, 1, 1, 2, -500])

    def test_fields_of_any_name_are_sent(self) -> None:
        self.assertEqual(group.run(reserved_fields, 2, "")[0], [{"x": 1, "seen": "builtins.int 0x1"}, NAMED, MAPPED])


NAMED = {"self": 1, "operation": 2, "name": 3}
MAPPED = {"to": 1, "timeout": 2, "fields": 3, "self": 4, "operation": 5, "é": 6}


def reserved_fields(rank: int, names: str) -> List[Any]:
    if rank == 1:
        waybill.operation("trip.fields")(lambda **fields: fields)
    _join(rank, names)
    found = []
    if rank == 0:
        found = [
            waybill.call("trip.answer", to="answers", fields={"x": 1}),
            waybill.call("trip.fields", to="answers", **NAMED),
            waybill.call("trip.fields", to="answers", fields=MAPPED),
        ]
        for fields in ({"a": 1}, 5, {1: 2}, {"a\udcff": 1}):
            try:
                waybill.call("trip.fields", to="answers", fields=fields, a=2)
                found.append("expected that %r is refused" % (fields,))
            except (TypeError, ValueError) as e:
                if type(e) not in (TypeError, ValueError):
                    found.append(repr(e))
    _leave(rank)
    return found


if __name__ == "__main__":
    unittest.main()
