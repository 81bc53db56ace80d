"""Groups of a known size: members that leave at once, and members that restart."""

import os
import signal
import threading
import time
import unittest
from typing import Any

from tests import group
from waybill import rpc

_LIMIT_SECONDS = 60
_gone = threading.Event()


def add(a: int, b: int) -> int:
    return a + b


def go() -> None:
    _gone.set()


def leave_at_once(rank: int, size: int) -> Any:
    """Ends without a shutdown."""
    rpc.init_rpc("worker%d" % rank, rank=rank, world_size=size)
    return "left"


def shut_down_often(rank: int, size: int) -> Any:
    for _ in range(5):
        rpc.init_rpc("worker%d" % rank, rank=rank, world_size=size)
        rpc.shutdown()
    return "left"


def restart(rank: int, which: int, size: int) -> Any:
    """One member is killed and starts again, calls and leaves with the others."""
    name = "worker%d" % rank
    if rank == which:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            rpc.init_rpc(name, rank=rank, world_size=size)
            os.write(writing, b"1")
            time.sleep(_LIMIT_SECONDS)
        os.read(reading, 1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    rpc.init_rpc(name, rank=rank, world_size=size)
    found = None
    if rank == which:
        others = ["worker%d" % other for other in range(size) if other != which]
        found = sum(rpc.rpc_sync(other, add, args=(rank, 1)) for other in others)
        for other in others:
            rpc.rpc_sync(other, go)
    elif not _gone.wait(_LIMIT_SECONDS):
        return "not called by the restarted member"
    rpc.shutdown()
    return found


class GroupsTest(unittest.TestCase):
    def test_a_member_may_leave_as_soon_as_it_has_met(self) -> None:
        for _ in range(5):
            self.assertEqual(group.run(leave_at_once, 4, 4), ["left"] * 4)

    def test_groups_meet_and_shut_down_again_and_again(self) -> None:
        self.assertEqual(group.run(shut_down_often, 4, 4), ["left"] * 4)

    def test_a_member_that_restarts_is_of_the_group(self) -> None:
        self.assertEqual(group.run(restart, 3, 1, 3), [None, 4, None])

    def test_a_leader_that_restarts_is_of_the_group(self) -> None:
        self.assertEqual(group.run(restart, 3, 0, 3), [2, None, None])


if __name__ == "__main__":
    unittest.main()
