"""Runs a function in several processes that are connected to one router."""

import contextlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from typing import Any, Callable, Dict, Iterator, List

LIMIT_SECONDS = 120
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@contextlib.contextmanager
def router() -> Iterator[Dict[str, str]]:
    """Starts a router; gives the environment of processes that are to connect to it."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "python.sock")
        process = start_router(path)
        try:
            yield environment_of(path)
        finally:
            kill_router(process)


def environment_of(path: str) -> Dict[str, str]:
    """The environment of a process that is to connect to a router."""
    return dict(os.environ, PYTHONPATH=ROOT, WAYBILL_PYTHON_SOCKET=path)


def start_router(path: str) -> "subprocess.Popen[bytes]":
    """Starts a router in the place of one that was killed, if there was one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.router", path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment_of(path),
    )
    assert process.stdout is not None
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError("the router did not start")
    return process


def kill_router(process: "subprocess.Popen[bytes]") -> None:
    """Kills a router: its socket stays, and takes no connection."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    process.kill()
    process.wait()


def run(test: Callable[[int], Any], size: int, *args: Any) -> List[Any]:
    """Calls ``test(rank, *args)`` in ``size`` processes and returns what they return; raises if one of them raised."""
    context = multiprocessing.get_context("fork")
    with router() as environment:
        path = environment["WAYBILL_PYTHON_SOCKET"]
        pipes = [context.Pipe(False) for _ in range(size)]
        processes = [
            context.Process(target=_run, args=(test, rank, path, pipes[rank][1], args)) for rank in range(size)
        ]
        for process in processes:
            process.start()
        for _, sending in pipes:
            sending.close()
        try:
            outcomes = [_outcome(rank, receiving) for rank, (receiving, _) in enumerate(pipes)]
        finally:
            for process in processes:
                process.kill()
                process.join()
    failed = [text for text, _ in outcomes if text]
    if failed:
        raise AssertionError("\n".join(failed))
    return [value for _, value in outcomes]


def _outcome(rank: int, receiving: Any) -> Any:
    if not receiving.poll(LIMIT_SECONDS):
        return "process %d: expected its end within %d s" % (rank, LIMIT_SECONDS), None
    try:
        return receiving.recv()
    except EOFError:
        return "process %d ended without an outcome" % rank, None


def _run(test: Callable[..., Any], rank: int, path: str, sending: Any, args: Any) -> None:
    os.environ["WAYBILL_PYTHON_SOCKET"] = path
    try:
        sending.send(("", test(rank, *args)))
    except BaseException:
        sending.send(("process %d: %s" % (rank, traceback.format_exc()), None))
    os._exit(0)
