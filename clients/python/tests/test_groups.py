"""Groups of a known size: members that leave at once, and members that restart."""

import multiprocessing
import os
import signal
import threading
import time
import unittest
from typing import Any

from tests import group
from waybill import rpc
from waybill.rpc import meeting

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


def change_between_jobs(rank: int, size: int) -> Any:
    """Jobs of one home, one after the other: with the ranks swapped, with other names, and with fewer members."""
    found = []
    jobs = [("worker%d" % rank, rank, size), ("worker%d" % rank, size - 1 - rank, size), ("other%d" % rank, rank, size)]
    if rank:
        jobs.append(("worker%d" % rank, rank - 1, size - 1))
    for name, own, of in jobs:
        rpc.init_rpc(name, rank=own, world_size=of)
        infos = rpc.api._get_current_rpc_agent().get_worker_infos()
        to = (own + 1) % of
        rref = rpc.remote(to, add, args=(own, 10))
        owner = rpc.rpc_sync(to, owner_of, args=(rref,))
        found.append((sorted(info.id for info in infos), rpc.rpc_sync(to, own_id), owner, rref.to_here()))
        del rref
        rpc.shutdown()
    return found


def own_id() -> int:
    return rpc.get_worker_info().id


def owner_of(rref: Any) -> Any:
    return rref.owner().id, rref.is_owner(), rref.owner_name() == rpc.get_worker_info().name


def two_groups(rank: int, size: int, met: Any, over: Any) -> Any:
    """Two groups at a time, kept apart by their ports, and a third one that has the port of the second."""
    which, own = divmod(rank, size)
    os.environ["MASTER_PORT"] = str(29500 + min(which, 1))
    if which == 2:
        meeting._CONFLICT_SECONDS = 0.5
        met.wait(_LIMIT_SECONDS)
        try:
            rpc.init_rpc("c", rank=0, world_size=size)
        except RuntimeError as e:
            return str(e)
        finally:
            over.wait(_LIMIT_SECONDS)
        return "admitted"
    rpc.init_rpc("%s%d" % ("ab"[which], own), rank=own, world_size=size)
    met.wait(_LIMIT_SECONDS)
    over.wait(_LIMIT_SECONDS)
    found = rpc.rpc_sync((own + 1) % size, name_of), rpc.rpc_sync("ab"[1 - which] + "0", own_id)
    rpc.shutdown()
    return found


def name_of() -> str:
    return rpc.get_worker_info().name


def leave_without(rank: int, which: int, size: int) -> Any:
    """One member ends while the others wait for it in shutdown, and does not come back."""
    options = rpc.WaybillRpcBackendOptions(rpc_timeout=1.0)
    rpc.init_rpc("worker%d" % rank, rank=rank, world_size=size, rpc_backend_options=options)
    if rank == which:
        deadline = time.monotonic() + _LIMIT_SECONDS
        while which == 0 and not rpc.api._all_gather_sequence_id_to_states and time.monotonic() < deadline:
            # until the other one has said that it leaves
            time.sleep(0.01)
        return "ended"
    try:
        rpc.shutdown()
    except RuntimeError as e:
        return str(e)
    return "left"


def _join_again(name: str, rank: int, size: int) -> None:
    """Joins as soon as the router has seen the end of the process that had the name."""
    until = time.monotonic() + _LIMIT_SECONDS
    while True:
        try:
            return rpc.init_rpc(name, rank=rank, world_size=size)
        except RuntimeError as e:
            if "a live worker has the name" not in str(e) or time.monotonic() > until:
                raise
            time.sleep(0.01)


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
    _join_again(name, rank, size)
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

    def test_names_and_ranks_change_between_jobs(self) -> None:
        found = group.run(change_between_jobs, 3, 3)
        for number, size in enumerate([3, 3, 3, 2]):
            members = [outcomes[number] for outcomes in found if number < len(outcomes)]
            ids = list(range(size))
            self.assertEqual([member[0] for member in members], [ids] * size)
            self.assertEqual(sorted(member[1] for member in members), ids)
            self.assertEqual(sorted(member[2] for member in members), [(rank, True, True) for rank in ids])
            self.assertEqual(sorted(member[3] for member in members), [rank + 10 for rank in ids])

    def test_groups_at_a_time_are_kept_apart_or_refused(self) -> None:
        context = multiprocessing.get_context("fork")
        met, over = context.Barrier(5), context.Barrier(5)
        found = group.run(two_groups, 5, 2, met, over)
        self.assertEqual(found[:4], [("a1", 0), ("a0", 0), ("b1", 0), ("b0", 0)])
        self.assertIn("one worker of rank 0, found c and b0; groups that are in a home at a time need", found[4])
        self.assertIn("these share port 29501", found[4])

    def test_a_member_that_ends_is_not_waited_for_indefinitely(self) -> None:
        for which in (0, 1):
            for rank, found in enumerate(group.run(leave_without, 2, which, 2)):
                if rank == which:
                    self.assertEqual(found, "ended")
                else:
                    self.assertIn("expected worker%d, found that it ended, and did not come back" % which, found)

    def test_a_member_that_restarts_is_of_the_group(self) -> None:
        self.assertEqual(group.run(restart, 3, 1, 3), [None, 4, None])

    def test_a_leader_that_restarts_is_of_the_group(self) -> None:
        self.assertEqual(group.run(restart, 3, 0, 3), [2, None, None])


class MeetingTest(unittest.TestCase):
    def test_a_member_of_another_group_is_refused_also_after_the_meeting(self) -> None:
        met = meeting.Meeting()
        members = frozenset({"a", "b"})
        met.begin(members, True)
        met.lead(frozenset(), lambda: True, lambda name: {})
        again = met.arrive("b", members, {"all": 3})
        self.assertTrue(again.done(), "a member that has restarted waits")
        self.assertEqual(again.wait(), ("", {"all": 3}))
        other = met.arrive("c", frozenset({"a", "c"}), {"all": 3})
        self.assertTrue(other.done(), "a member of another group waits")
        self.assertEqual(other.wait(), ("a group of a, c, found one of a, b", None))


if __name__ == "__main__":
    unittest.main()
