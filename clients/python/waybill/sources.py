"""Source files of imported modules, and whether they have changed."""

import os
import sys
import time
from typing import Dict, Iterable, Iterator, Optional, Tuple

# how far the time of a change may lie behind the clock
_CLOCK_STEP_NS = 20_000_000


class Sources:
    """The files below some directories that this process has imported modules from. For one thread."""

    def __init__(self, directories: Iterable[str]) -> None:
        self._directories = tuple(os.path.join(os.path.realpath(each), "") for each in directories)
        self._paths: Dict[str, Optional[str]] = {}
        self._states: Dict[str, Tuple[int, int]] = {}
        self._looked_ns = time.time_ns()

    def changed(self) -> Optional[str]:
        """A file that has changed since it was imported; None if there is none."""
        now_ns = time.time_ns()
        for path in self._imported():
            try:
                found = os.stat(path)
            except OSError:
                # it is gone, or is being replaced: another process could not import it
                continue
            state = found.st_mtime_ns, found.st_size
            if path not in self._states and found.st_mtime_ns <= self._looked_ns - _CLOCK_STEP_NS:
                self._states[path] = state
            # a new one that has changed since the last look may have been imported before the change or after it
            if self._states.get(path) != state:
                return path
        self._looked_ns = now_ns
        return None

    def _imported(self) -> Iterator[str]:
        for module in list(sys.modules.values()):
            name = getattr(module, "__dict__", {}).get("__file__")
            if not isinstance(name, str):
                continue
            if name not in self._paths:
                path = os.path.realpath(name)
                self._paths[name] = path if path.startswith(self._directories) else None
            found = self._paths[name]
            if found is not None:
                yield found
