"""The list of what is known of each of the peer's tests (kept.txt)."""

import os
from typing import List, NamedTuple

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kept.txt")
# what clients of one host need; the tests of all of them are one denominator
VERSION = "1.13"  # of the torch whose tests are listed
THEMES = ("T3", "T4", "T5", "T6", "T7", "T9", "T11", "A1", "A2", "A3", "A4", "O", "M")
UNLISTED = "-"  # theme of a test that another version of torch has
STATUSES = ("passed", "differs", "n/a")


class Test(NamedTuple):
    """A test of the peer."""

    group: str
    name: str

    def __str__(self) -> str:
        return "%s.%s" % self


class Kept(NamedTuple):
    """What is known of a test."""

    theme: str
    test: Test
    status: str
    reason: str


def read(path: str = PATH) -> List[Kept]:
    """The list. Raises for a line that is none of it."""
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#"):
                continue
            theme, test, status, reason = (line.strip().split(" ", 3) + [""])[:4]
            if status not in STATUSES or "." not in test or (status == "passed") != (not reason):
                raise ValueError(
                    "%s:%d: expected 'theme class.test passed', or differs or n/a with a reason" % (path, number)
                )
            found.append(Kept(theme, Test(*test.split(".")), status, reason))
    return found
