"""A pool process: ``python -m waybill.pool``, started by a gateway. Serves the calls that are addressed to its node."""

import functools
import os
import sys
import threading
from typing import Any, Callable, Optional

from waybill import pickling
from waybill.sources import Sources
from waybill.worker import Worker


_LOOK_SECONDS = 0.5


def find_function(name: str) -> Optional[Callable[..., Any]]:
    """The function that ``module:qualname`` names; None if there is none."""
    try:
        found = _find(name)
    except (ImportError, AttributeError):
        # not remembered: it may be installed later
        return None
    return found if callable(found) else None


@functools.lru_cache(maxsize=1024)
def _find(name: str) -> Any:
    module, separator, qualname = name.partition(":")
    return pickling.restore_function(module, qualname) if separator else None


def _lead() -> None:
    """Begins a session, by which the gateway finds what functions have started and left."""
    try:
        os.setsid()
    except OSError:
        # this process leads one already
        pass


def _watch(worker: Worker, over: threading.Event) -> None:
    """Asks for no further calls when the file of a module has changed: another process takes this one's place."""
    sources = Sources(str(entry) for entry in worker.connection.welcome.get("path", []))
    while not over.wait(_LOOK_SECONDS):
        changed = sources.changed()
        if changed is not None:
            print("waybill.pool: %s has changed; a new process takes further calls" % changed, flush=True)
            worker.connection.ask_to_leave()
            return


def main() -> int:
    """Connects, serves until the connection ends, and returns the exit code."""
    path = os.environ.get("WAYBILL_PYTHON_SOCKET", "")
    token = os.environ.pop("WAYBILL_PYTHON_TOKEN", "")
    if not path or not token:
        print(
            "waybill.pool: expected WAYBILL_PYTHON_SOCKET and WAYBILL_PYTHON_TOKEN; a gateway sets them",
            file=sys.stderr,
        )
        return 2
    _lead()
    over = threading.Event()
    worker = Worker(path, {"role": "pool", "token": token})
    worker.find_operation = find_function
    worker.on_lost_callback = lambda _: over.set()
    sys.path[:0] = [str(entry) for entry in worker.connection.welcome.get("path", [])]
    worker.start()
    if worker.connection.welcome.get("reload"):
        threading.Thread(target=_watch, args=(worker, over), name="waybill-sources", daemon=True).start()
    over.wait()
    # a function may hang: its thread must not keep the process
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
