"""Meeting of the members of a group of a known size, including members that restart."""

import threading
import time
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from waybill.futures import Future
from waybill.roster import WorkerInfo
from waybill.rpc import constants, state

Numbers = Dict[str, int]
Names = FrozenSet[str]
_LOOK_SECONDS = 1.0
# for requests of the program, which may take longer
_RESPONSE_SECONDS = 1.0
# between two checks of the home's members
_FIRST_PAUSE = 0.002
_MAX_PAUSE = 0.05
# how long workers of an earlier job may take to leave before they are taken for those of another group
_CONFLICT_SECONDS = 10.0


class OtherGroup(RuntimeError):
    """Workers that are not of one group: of an earlier job that has not left yet, or of a program that goes on."""


class _Missing(RuntimeError):
    """Ranks that have not joined."""


class _Arrival(NamedTuple):
    """A member that waits at the leader, and whom it takes for members. It gets a refusal or the numbers."""

    members: Names
    came: "Future[Tuple[str, Optional[Numbers]]]"


# a refusal or the numbers
_Outcome = Tuple[_Arrival, Tuple[str, Optional[Numbers]]]


class Meeting:
    """State of a group's meeting in one member. The member with the first name leads; nothing is needed of others
    once it has responded to them, so that each of them may leave at once. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._arrived: Dict[str, _Arrival] = {}
        # as this member sees them; None while it looks
        self._members: Optional[Names] = None
        self._leads = False
        self._has_met = False

    def known(self) -> Optional[Names]:
        """The members of this member's group, if that has met and it has not begun to leave."""
        with self._changed:
            return self._members if self._has_met else None

    def begin(self, members: Optional[Names], leads: bool) -> None:
        """Sets the members that this one sees, and whether it leads them; None while it searches them."""
        with self._changed:
            self._members = members
            self._leads = leads
            refused = self._refused()
        _complete(refused)

    def met(self) -> None:
        """The group has met; members that come now have restarted."""
        with self._changed:
            self._has_met = True

    def over(self) -> None:
        """This member leaves: it is no longer of those that have met."""
        with self._changed:
            self._has_met = False

    def arrive(self, name: str, members: Names, numbers: Numbers) -> "Future[Tuple[str, Optional[Numbers]]]":
        """On the leader: a member has come. The future completes when all have, or with a reason why not."""
        arrival = _Arrival(members, Future())
        with self._changed:
            if self._has_met and members == self._members:
                outcomes: List[_Outcome] = [(arrival, ("", numbers))]
            else:
                self._arrived[name] = arrival
                outcomes = self._refused()
                self._changed.notify_all()
        _complete(outcomes)
        return arrival.came

    def _refused(self) -> "List[_Outcome]":
        """Takes those out who see other members than this one does; with the lock."""
        refused: List[_Outcome] = []
        if self._members is None:
            return refused
        own = ", ".join(sorted(self._members))
        for name, arrival in list(self._arrived.items()):
            if arrival.members != self._members:
                why = "a group of %s, found one of %s" % (", ".join(sorted(arrival.members)), own)
            elif not self._leads and not self._has_met:
                why = "a leader of %s, found another member" % own
            else:
                continue
            del self._arrived[name]
            refused.append((arrival, (why, None)))
        return refused

    def lead(self, others: Names, look: Any, numbers: Any) -> None:
        """On the leader: waits for the others, or for one that has met before, and lets them go.

        :param look: whether one has met before; a member that did not know it yet when it was asked is asked again
        :param numbers: gives those of a member's gatherings, by its name
        :raises OtherGroup: when others are in their place now
        """
        while not look():
            with self._changed:
                if self._changed.wait_for(lambda: others <= set(self._arrived), _LOOK_SECONDS):
                    break
        with self._changed:
            self._has_met = True
            arrived, self._arrived = self._arrived, {}
        _complete([(arrival, ("", numbers(name))) for name, arrival in arrived.items()])


def _complete(outcomes: "List[_Outcome]") -> None:
    # a callback of each responds
    for arrival, outcome in outcomes:
        arrival.came.set_result(outcome)


def meet(agent: Any, size: int, gatherings: Any) -> None:
    """Waits until all members are here; one that has restarted takes the numbers of the gatherings from the others.

    :param size: number of members, whose ranks are 0, 1, 2 and so on
    :param gatherings: has ``numbers_for`` a member and takes them by ``adopt``
    :raises RuntimeError: when they have not come in time, or others have their place
    """

    def attempt() -> None:
        members = _members_of(agent, size)
        agent.take_members(members)
        _meet(agent, frozenset(info.name for info in members), gatherings, lambda: _members_of(agent, size))

    _repeat(agent, attempt)


def claim_rank(agent: Any) -> None:
    """Waits until no other worker has the rank of this one, such as one of an earlier job that leaves."""
    _repeat(agent, lambda: _by_rank(agent, 0))


def _repeat(agent: Any, attempt: Any) -> None:
    end = time.monotonic() + constants.GROUP_TIMEOUT
    conflict_end: Optional[float] = None
    pause = _FIRST_PAUSE
    while True:
        try:
            attempt()
            return
        except _Missing as e:
            conflict_end = None
            why: RuntimeError = e
        except RuntimeError as e:
            # also of a call of a member that ended meanwhile
            conflict_end = conflict_end or time.monotonic() + _CONFLICT_SECONDS
            why = e
        agent.meeting.begin(None, False)
        if time.monotonic() > min(end, conflict_end or end):
            raise RuntimeError("init_rpc: expected %s%s" % (why, _advice(agent) if conflict_end else "")) from None
        time.sleep(pause)
        pause = min(pause * 1.5, _MAX_PAUSE)


def _advice(agent: Any) -> str:
    group = agent.worker.roster.own.membership.group
    return "; groups that are in a home at a time need names of their own and another MASTER_PORT each%s" % (
        ", and these share %s" % group if group else ""
    )


def _by_rank(agent: Any, size: int) -> Dict[int, WorkerInfo]:
    """The live workers of the group by their ranks."""
    found: Dict[int, WorkerInfo] = {}
    own = agent.worker.roster.own
    for each in agent.worker.workers():
        membership = each.membership
        if membership is None or membership.group != own.membership.group:
            continue
        other = found.setdefault(membership.rank, each.info)
        if other.name != each.info.name:
            # a program that has no world size knows of no other ranks
            if size or membership.rank == own.info.id:
                names = (membership.rank, other.name, each.info.name)
                raise OtherGroup("one worker of rank %d, found %s and %s" % names)
        elif size and membership.size not in (0, size):
            raise OtherGroup("a world size of %d, found %s with %d" % (size, each.info.name, membership.size))
    return found


def _members_of(agent: Any, size: int) -> List[WorkerInfo]:
    found = _by_rank(agent, size)
    missing = sorted(set(range(size)) - set(found))
    if missing:
        raise _Missing("%d workers, found none with the ids %s after %d s" % (size, missing, constants.GROUP_TIMEOUT))
    return [found[rank] for rank in range(size)]


def _meet(agent: Any, members: Names, gatherings: Any, look_again: Any) -> None:
    own = agent.worker.info.name
    leader = min(members)
    agent.meeting.begin(members, own == leader)
    if own != leader:
        to = agent.get_worker_info(leader)
        why, numbers = agent.call_sync(to, _arrive, (own, sorted(members)), {}, constants.GROUP_TIMEOUT)
        if why:
            raise OtherGroup(why)
        gatherings.adopt(numbers)
        agent.meeting.met()
        return
    others = members - {own}
    end = time.monotonic() + constants.GROUP_TIMEOUT

    def look() -> bool:
        if frozenset(info.name for info in look_again()) != members:
            raise OtherGroup("members that stay, found others")
        found = _numbers_of_others(agent, others, members)
        if found is not None:
            gatherings.adopt(found)
        elif time.monotonic() > end:
            raise OtherGroup("calls of %s by all members, found none within %d s" % (own, constants.GROUP_TIMEOUT))
        return found is not None

    agent.meeting.lead(others, look, gatherings.numbers_for)
    # a response may be written by the thread that has served the request: this member may end now
    is_responding = agent.worker.responding()
    end = time.monotonic() + _RESPONSE_SECONDS
    while is_responding() and time.monotonic() < end:
        time.sleep(0.001)


def _numbers_of_others(agent: Any, others: Names, members: Names) -> Optional[Numbers]:
    """On the leader: the numbers that a member has which has met before; None if the group meets now."""
    own = agent.worker.info.name
    asked = [
        agent.call_async(agent.get_worker_info(name), _ask, (own,), {}, constants.GROUP_TIMEOUT) for name in others
    ]
    found: Optional[Numbers] = None
    for future in asked:
        response = future.wait()
        if response is None:
            continue
        if frozenset(response[0]) != members:
            raise OtherGroup("a group of %s, found one of %s" % (", ".join(sorted(members)), ", ".join(response[0])))
        found = response[1] if found is None else found
    return found


def _arrive(name: str, members: List[str]) -> "Future[Tuple[str, Optional[Numbers]]]":
    from waybill.rpc import api

    return state.current_agent().meeting.arrive(name, frozenset(members), api.numbers_for(name))


_arrive._wrapped_async_rpc_function = _arrive  # type: ignore[attr-defined]


def _ask(leader: str) -> Optional[Tuple[List[str], Numbers]]:
    """On another member, for a leader that has begun: whom it has met, and the numbers of their gatherings."""
    from waybill.rpc import api

    members = state.current_agent().meeting.known()
    if members is None:
        return None
    if leader not in members:
        return sorted(members), {}
    numbers = api.numbers_for(leader)
    api.gather_again(leader)
    return sorted(members), numbers
