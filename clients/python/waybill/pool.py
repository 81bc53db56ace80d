"""A pool process: ``python -m waybill.pool``, started by a gateway. Serves the calls that are addressed to its node."""

import functools
import importlib.util
import io
import os
import sys
import threading
import traceback
import types
from typing import Any, Callable, Optional

from waybill import client, pickling
from waybill.sources import Sources
from waybill.worker import Worker


_LOOK_SECONDS = 0.5
# under which a program is imported
_SCRIPT = "__waybill_main__"


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


def load_script(path: str, worker: Worker) -> None:
    """Imports a program, whose functions are then those of this process's ``__main__``, as they were when it ran.

    What it does under ``if __name__ == "__main__":`` is left out, which is to join and to serve.
    """
    from waybill.rpc import state
    from waybill.rpc.agent import ReplayAgent

    state.set_agent(ReplayAgent(worker))
    directory = os.path.dirname(path)
    sys.path.insert(0, directory)
    spec = importlib.util.spec_from_file_location(_SCRIPT, path)
    if spec is None or spec.loader is None:
        raise ImportError("%s: expected a Python program" % path)
    script = importlib.util.module_from_spec(spec)
    sys.modules[_SCRIPT] = script
    spec.loader.exec_module(script)
    for value in list(vars(script).values()):
        if isinstance(value, (type, types.FunctionType)) and value.__module__ == _SCRIPT:
            # they are pickled under the name that they had
            value.__module__ = "__main__"
    sys.modules["__main__"] = script


def find_served(name: str) -> Optional[Callable[..., Any]]:
    """The operation that the program serves under a name, or the function that it names."""
    return client.served(name) or find_function(name)


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
    script = os.environ.pop("WAYBILL_PYTHON_SCRIPT", "")
    if not path or not token:
        print(
            "waybill.pool: expected WAYBILL_PYTHON_SOCKET and WAYBILL_PYTHON_TOKEN; a gateway sets them",
            file=sys.stderr,
        )
        return 2
    _lead()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a line is that of the call which prints it
        sys.stdout.reconfigure(line_buffering=True)
    over = threading.Event()
    worker = Worker(path, {"role": "pool", "token": token})
    worker.find_operation = find_served if script else find_function
    worker.on_lost_callback = lambda _: over.set()
    sys.path[:0] = [str(entry) for entry in worker.connection.welcome.get("path", [])]
    if script:
        try:
            load_script(script, worker)
        except BaseException:
            traceback.print_exc()
            print("waybill.pool: %s can't be imported; it is to join and serve below a test of __name__" % script)
            return 3
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
