"""How the members of a group of a known size meet, also one that has restarted while the others went on."""

import threading
import time
from typing import Any, Dict, Optional, Set

from waybill.futures import Future
from waybill.rpc import constants, state

Numbers = Dict[str, int]
_LOOK_SECONDS = 1.0
# for requests of the program, which may take longer
_RESPONSE_SECONDS = 1.0


class Meeting:
    """What one member knows of its group's meeting. The one with the first name leads; nothing is needed of others
    once it has responded to them, so that each of them may leave at once. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._arrived: Dict[str, "Future[Numbers]"] = {}
        self._has_met = False

    def has_met(self) -> bool:
        """Whether this member's group has met, and it has not begun to leave."""
        return self._has_met

    def met(self) -> None:
        """The group has met; members that come now have restarted."""
        with self._changed:
            self._has_met = True

    def over(self) -> None:
        """This member leaves: it is no longer of those that have met."""
        with self._changed:
            self._has_met = False

    def arrive(self, name: str, numbers: Numbers) -> "Future[Numbers]":
        """On the leader: a member has come. The future completes when all have."""
        came: "Future[Numbers]" = Future()
        with self._changed:
            if not self._has_met:
                self._arrived[name] = came
                self._changed.notify_all()
                return came
        came.set_result(numbers)
        return came

    def lead(self, others: Set[str], look: Any, numbers: Any) -> None:
        """On the leader: waits for the others, or for one that has met before, and lets them go.

        :param look: whether one has met before; a member that did not know it yet when it was asked is asked again
        :param numbers: gives those of a member's gatherings, by its name
        """
        end = time.monotonic() + constants.GROUP_TIMEOUT
        while not look():
            with self._changed:
                if self._changed.wait_for(lambda: others <= set(self._arrived), _LOOK_SECONDS):
                    break
                if time.monotonic() > end:
                    missing = sorted(others - set(self._arrived))
                    raise RuntimeError(
                        "init_rpc: expected %d workers, found that %s had not come after %d s"
                        % (len(others) + 1, missing, constants.GROUP_TIMEOUT)
                    )
        with self._changed:
            self._has_met = True
            arrived, self._arrived = self._arrived, {}
        # a callback of each responds
        for name, came in arrived.items():
            came.set_result(numbers(name))


def meet(agent: Any, gatherings: Any) -> None:
    """Waits until all members are here; one that has restarted takes the numbers of the gatherings from the others.

    :param gatherings: has ``numbers_for`` a member and takes them by ``adopt``
    """
    own = agent.worker.info.name
    members = agent.member_names()
    leader = min(members)
    if own != leader:
        gatherings.adopt(
            agent.call_sync(agent.get_worker_info(leader), _arrive, (own,), {}, constants.GROUP_TIMEOUT)
        )
        agent.meeting.met()
        return
    others = members - {own}

    def look() -> bool:
        found = _numbers_of_others(agent, others)
        if found is not None:
            gatherings.adopt(found)
        return found is not None

    agent.meeting.lead(others, look, gatherings.numbers_for)
    # a response may be written by the thread that has served the request: this member may end now
    is_responding = agent.worker.responding()
    end = time.monotonic() + _RESPONSE_SECONDS
    while is_responding() and time.monotonic() < end:
        time.sleep(0.001)


def _numbers_of_others(agent: Any, others: Set[str]) -> Optional[Numbers]:
    """On the leader: the numbers that a member has which has met before; None if the group meets now."""
    own = agent.worker.info.name
    asked = [
        agent.call_async(agent.get_worker_info(name), _ask, (own,), {}, constants.GROUP_TIMEOUT) for name in others
    ]
    found: Optional[Numbers] = None
    for future in asked:
        numbers = future.wait()
        found = numbers if found is None else found
    return found


def _arrive(name: str) -> "Future[Numbers]":
    from waybill.rpc import api

    return state.current_agent().meeting.arrive(name, api.numbers_for(name))


_arrive._wrapped_async_rpc_function = _arrive  # type: ignore[attr-defined]


def _ask(leader: str) -> Optional[Numbers]:
    """On another member, for a leader that has begun."""
    from waybill.rpc import api

    if not state.current_agent().meeting.has_met():
        return None
    numbers = api.numbers_for(leader)
    api.gather_again(leader)
    return numbers
