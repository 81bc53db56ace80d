"""Roster of the home's workers, by the ids that programs see, and by the ids of the home."""

import re
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Union

_NAME = re.compile(r"^[A-Za-z0-9\-_:]*$")


class _NameAndId(NamedTuple):
    name: str
    id: int


class WorkerInfo(_NameAndId):
    """Name and id of a worker."""

    __slots__ = ()

    def __new__(cls, name: str, id: int) -> "WorkerInfo":
        check_name(name)
        return super().__new__(cls, name, id)

    def __repr__(self) -> str:
        return "WorkerInfo(id=%d, name=%s)" % (self.id, self.name)


def check_name(name: str) -> None:
    """Raises unless the name is one that a worker can have."""
    if not _NAME.match(name) or not 0 < len(name) < 128:
        raise RuntimeError(
            "Worker name must match ^[A-Za-z0-9-_:]*$, and must be non-empty and shorter than 128 chars, but got %s"
            % name
        )


class Membership(NamedTuple):
    """Information that a process publishes when it joins: its group and its rank there.

    :ivar rank: its number in the group
    :ivar size: number of members; 0 when the process has not said it
    :ivar group: which one, of those that there are in the home at a time
    """

    rank: int
    size: int
    group: str

    def fields(self) -> Dict[str, Any]:
        """For ``HELLO``."""
        return dict(self._asdict())


class Listed(NamedTuple):
    """A live worker.

    :ivar info: as programs see it
    :ivar home_id: its id in the home
    :ivar membership: in which group it is, if it is in one
    """

    info: WorkerInfo
    home_id: int
    membership: Optional[Membership]


class Roster:
    """The workers that this process has seen. Thread-safe.

    The id that a program sees is the rank for a member of its own group, and -1 - (id in the home) for any other
    worker. A program that is in no group sees ids of the home. A name keeps its id in the home; its rank may be
    another one in the next job.
    """

    def __init__(self, name: str, home_id: int, membership: Optional[Membership]) -> None:
        self._membership = membership
        self._lock = threading.Lock()
        self._by_name: Dict[str, Listed] = {}
        self._by_id: Dict[int, WorkerInfo] = {}
        self._by_home_id: Dict[int, WorkerInfo] = {}
        self.own = self._add(name, home_id, membership)

    def update(self, workers: Any) -> List[Listed]:
        """Takes what ``gateway.workers`` lists, and returns it."""
        found = []
        for each in workers:
            found.append(self._add(str(each["name"]), int(each["id"]), _membership_of(each.get("member"))))
        return found

    def _add(self, name: str, home_id: int, membership: Optional[Membership]) -> Listed:
        listed = Listed(WorkerInfo(name, self._shown(home_id, membership)), home_id, membership)
        with self._lock:
            self._by_name[name] = listed
            self._by_id[listed.info.id] = self._by_home_id[home_id] = listed.info
        return listed

    def _shown(self, home_id: int, membership: Optional[Membership]) -> int:
        if self._membership is None:
            return home_id
        return membership.rank if membership and membership.group == self._membership.group else -1 - home_id

    def find(self, worker: Union[str, int]) -> Optional[WorkerInfo]:
        """A worker by its name or the id that programs see."""
        if isinstance(worker, str):
            listed = self._by_name.get(worker)
            return listed and listed.info
        return self._by_id.get(worker)

    def of_home(self, home_id: int) -> Optional[WorkerInfo]:
        """A worker by its id in the home."""
        return self._by_home_id.get(home_id)

    def home_id(self, name: str) -> Optional[int]:
        """The id in the home of a worker by its name."""
        listed = self._by_name.get(name)
        return listed and listed.home_id

    def unknown(self, home_id: int) -> WorkerInfo:
        """In the place of a worker that is no longer in the home."""
        return WorkerInfo("worker-%d" % home_id, self._shown(home_id, None))


def _membership_of(fields: Any) -> Optional[Membership]:
    """Published information of a process from a gateway; None if it is not a client's."""
    if not isinstance(fields, dict):
        return None
    found = tuple(fields.get(key) for key in Membership._fields)
    if [type(each) for each in found] != [int, int, str] or found[0] < 0:
        return None
    return Membership(*found)
