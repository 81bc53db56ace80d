import threading
import unittest
from typing import Any, Dict

from tests import group
from waybill import rpc


class Coded(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Plain(ValueError):
    pass


class TwoBases(KeyError, OSError):
    def __init__(self, *, where: str) -> None:
        super().__init__(where, 1)
        self.where = where


class Reduced(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)

    def __reduce__(self) -> Any:
        return Reduced, self.args


class Holding(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()
        self.number = 7


MADE: Dict[str, Any] = {
    "coded": lambda: Coded(5, "text"),
    "plain": lambda: Plain("text"),
    "two": lambda: TwoBases(where="here"),
    "reduced": lambda: Reduced(1, 2),
    "holding": lambda: Holding("text"),
    "os": lambda: FileNotFoundError(2, "no file", "name"),
    "unicode": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "reason"),
    "key": lambda: KeyError(5),
    "import": lambda: ImportError("text", name="module"),
    "empty": lambda: LookupError(),
}


def fail(key: str) -> None:
    raise MADE[key]()


def errors(rank: int) -> Any:
    rpc.init_rpc("worker%d" % rank, rank=rank, world_size=2)
    found = {}
    if rank == 0:
        for key in MADE:
            for how in (
                lambda: rpc.rpc_sync("worker1", fail, args=(key,)),
                lambda: rpc.rpc_async("worker1", fail, args=(key,)).wait(),
                lambda: rpc.remote("worker1", fail, args=(key,)).to_here(),
            ):
                try:
                    how()
                except BaseException as e:
                    shown = str(e) + str(e.__cause__)
                    args = None if "Traceback" in str(e.args) else e.args
                    state = {k: v for k, v in vars(e).items()}
                    extra = [getattr(e, name, None) for name in ("errno", "filename", "reason", "name")]
                    found.setdefault(key, []).append((type(e).__name__, args, state, extra, "Traceback" in shown))
                    if key == "holding":
                        found["named"] = "stay with the callee: lock" in shown
    rpc.shutdown()
    return found


class ExceptionsTest(unittest.TestCase):
    def test_class_arguments_and_attributes_arrive(self) -> None:
        found = group.run(errors, 2)[0]
        none = [None, None, None, None]
        wanted = {
            "coded": ("Coded", None, {"code": 5}, none, True),
            "plain": ("Plain", None, {}, none, True),
            "two": ("TwoBases", ("here", 1), {"where": "here"}, ["here", None, None, None], True),
            "reduced": ("Reduced", (1, 2), {}, none, True),
            "holding": ("Holding", None, {"number": 7}, none, True),
            "os": ("FileNotFoundError", (2, "no file"), {}, [2, "name", None, None], True),
            "unicode": (
                "UnicodeDecodeError",
                ("utf-8", b"\xff", 0, 1, "reason"),
                {},
                [None, None, "reason", None],
                True,
            ),
            "key": ("KeyError", (5,), {}, none, True),
            "import": ("ImportError", None, {}, [None, None, None, "module"], True),
            "empty": ("LookupError", None, {}, none, True),
        }
        for key, value in wanted.items():
            with self.subTest(key):
                self.assertEqual(found[key], [value] * 3)
        self.assertTrue(found["named"], "the text names what could not be sent")

    def test_no_worker_is_not_this_one(self) -> None:
        def test(rank: int) -> Any:
            rpc.init_rpc("worker0", rank=0, world_size=1)
            found = []
            for call in (rpc.rpc_sync, rpc.rpc_async, rpc.remote):
                try:
                    call(None, max, args=(1, 2))
                except ValueError as e:
                    found.append(str(e))
            rpc.shutdown()
            return found

        self.assertEqual(group.run(test, 1)[0], ["Cannot get WorkerInfo from name None"] * 3)


if __name__ == "__main__":
    unittest.main()
