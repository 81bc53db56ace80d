"""Runs PyTorch's own tests of its RPC layer with ``waybill.rpc`` in the place of ``torch.distributed.rpc``.

The tests are those of the installed torch; nothing of them is copied. Each runs in processes of its own, forked from
one that has imported torch, under a time limit. What is known of each is in ``kept.txt``, for one version of
torch; with another one the tests that it has besides are run too, and those that it lacks are named. Usage::

    python3 -m tests.peer.run [--socket PATH] [--limit SECONDS] [--every-theme] [--differing] [PATTERN...]

Without ``--socket`` the calls go through the router of these tests; with it through the gateway that listens there.
With ``WAYBILL_PEER_TRACE`` stack traces are appended to that file, and those of all threads after a while to others.
"""

import argparse
import collections
import contextlib
import faulthandler
import fnmatch
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Dict, Iterator, List, NamedTuple, Optional

from tests.peer import classes, kept
from tests.peer.kept import Kept, Test

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SKIPPED = 80
_DUMP_SECONDS = 20


class Outcome(NamedTuple):
    """What became of a test."""

    status: str
    reason: str


def run_test(test: Test, limit: float, path: str) -> Outcome:
    """Runs one test in as many processes as it wants, and kills what is left of them at its limit."""
    with tempfile.TemporaryDirectory() as directory:
        size = classes.world_size(test)
        processes = [_fork(test, rank, path, directory) for rank in range(size)]
        codes = _wait(processes, limit)
        texts = [_read(os.path.join(directory, "error-%d" % rank)) for rank in range(size)]
    if all(code == 0 for code in codes):
        return Outcome("passed", "")
    if any(code >= _SKIPPED for code in codes):
        return Outcome("skipped", next((t for t in texts if t), "by itself"))
    lost = "no end within %d s on ranks %s" % (limit, [rank for rank, code in enumerate(codes) if code < 0])
    return Outcome("failed", next((text for text in texts if text), lost))


def _fork(test: Test, rank: int, path: str, directory: str) -> int:
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.setpgid(0, 0)
        os.environ["WAYBILL_PYTHON_SOCKET"] = path
        log = os.open(os.path.join(directory, "log-%d" % rank), os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = _run(test, rank, directory)
    finally:
        os._exit(code)


def _run(test: Test, rank: int, directory: str) -> int:
    import unittest

    if os.environ.get("WAYBILL_PEER_TRACE"):
        trace = open("%s.%s.%d" % (os.environ["WAYBILL_PEER_TRACE"], test.name, rank), "w", encoding="utf-8")
        faulthandler.dump_traceback_later(_DUMP_SECONDS, file=trace, exit=False)
    try:
        case = classes.case(test, rank, os.path.join(directory, "rendezvous"))
        getattr(case, test.name)()
    except unittest.SkipTest as e:
        _write(directory, rank, str(e))
        return _SKIPPED
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else 1
    except BaseException as e:
        last = traceback.extract_tb(e.__traceback__)[-1]
        text = (str(e).strip().splitlines() or [""])[0]
        where = "%s:%d" % (os.path.basename(last.filename), last.lineno or 0)
        _write(directory, rank, "rank %d, %s: %s: %s" % (rank, where, type(e).__name__, text))
        if os.environ.get("WAYBILL_PEER_TRACE"):
            with open(os.environ["WAYBILL_PEER_TRACE"], "a", encoding="utf-8") as file:
                file.write("%s rank %d\n%s\n" % (test, rank, traceback.format_exc()))
        return 1
    return 0


def _write(directory: str, rank: int, text: str) -> None:
    with open(os.path.join(directory, "error-%d" % rank), "w", encoding="utf-8") as file:
        file.write(text[:300])


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _wait(processes: List[int], limit: float) -> List[int]:
    """Exit codes; -1 for a process that was killed at the limit, or that ended by a signal."""
    codes: Dict[int, int] = {}
    end = time.monotonic() + limit
    while len(codes) < len(processes) and time.monotonic() < end:
        for process in processes:
            if process not in codes:
                found, status = os.waitpid(process, os.WNOHANG)
                if found:
                    codes[process] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
        if any(code != 0 for code in codes.values()):
            # the others may wait for the one that failed: they get a moment
            end = min(end, time.monotonic() + 3)
        time.sleep(0.01)
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        if process not in codes:
            os.waitpid(process, 0)
            codes[process] = -1
    return [codes[process] for process in processes]


@contextlib.contextmanager
def gateway(path: Optional[str]) -> Iterator[str]:
    """The socket to use: that of a running gateway, or of a router for one test."""
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory() as directory:
        own = os.path.join(directory, "python.sock")
        router = subprocess.Popen(
            [sys.executable, "-m", "tests.router", own], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert router.stdout is not None and router.stdin is not None
        try:
            router.stdout.readline()
            yield own
        finally:
            router.kill()
            router.stdin.close()
            router.stdout.close()
            router.wait()


def run_all(tests: List[Kept], limit: float, path: Optional[str]) -> List[Outcome]:
    """Runs the tests one after the other, and prints each outcome."""
    outcomes = []
    for one in tests:
        begin = time.monotonic()
        with gateway(path) as used:
            outcome = run_test(one.test, limit, used)
        outcomes.append(outcome)
        known = "" if one.status == "passed" else " (%s: %s)" % (one.status, one.reason)
        print(
            "%-7s %-3s %s %.1f s %s%s"
            % (outcome.status, one.theme, one.test, time.monotonic() - begin, outcome.reason, known)
        )
        sys.stdout.flush()
    return outcomes


def summary(tests: List[Kept], outcomes: List[Outcome], through: str) -> str:
    """What came of the tests, those that were not run among them."""
    counts = collections.Counter(one.status for one in tests if one.status != "passed")
    passed = sum(outcome.status == "passed" for outcome in outcomes)
    failed = sum(one.status == "passed" for one in tests) - passed
    return "%d tests of torch %s through %s: %d passed, %d failed, %d differ, %d can't apply; %.1f %% passed" % (
        len(tests),
        classes.torch_version(),
        through,
        passed,
        failed,
        counts["differs"],
        counts["n/a"],
        100.0 * passed / max(1, len(tests)),
    )


def main(arguments: List[str]) -> int:
    """Runs the tests that are listed as passed; 0 if all did."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.peer.run", description=__doc__.splitlines()[0])
    parser.add_argument("--socket", help="socket of a gateway; without it a router of these tests is used")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each test (default: 60)")
    parser.add_argument("--every-theme", action="store_true", help="also the themes that are not in the denominator")
    parser.add_argument("--differing", action="store_true", help="run those that are listed as differing instead")
    parser.add_argument("patterns", nargs="*", default=["*"], help="such as 'RpcTest.test_py_*'")
    options = parser.parse_args(arguments)
    classes.install()
    listed = kept.read()
    present = set(classes.tests())
    unlisted = sorted(present - {one.test for one in listed})
    if unlisted and classes.torch_version().startswith(kept.VERSION + "."):
        print("expected each test in %s, found none of %s" % (kept.PATH, ", ".join(map(str, unlisted))))
        return 1
    missing = [one.test for one in listed if one.test not in present]
    for what, named in (("not in the list, expected to pass", unlisted), ("not in this torch", missing)):
        if named:
            print("%d tests are %s: %s" % (len(named), what, ", ".join(map(str, named))))
    known = [one for one in listed if one.test in present]
    tests = [
        one
        for one in known + [Kept(kept.UNLISTED, test, "passed", "") for test in unlisted]
        if (options.every_theme or one.theme in kept.THEMES or one.theme == kept.UNLISTED)
        and any(fnmatch.fnmatchcase(str(one.test), pattern) for pattern in options.patterns)
    ]
    wanted = "differs" if options.differing else "passed"
    run = [one for one in tests if one.status == wanted]
    outcomes = run_all(run, options.limit, options.socket)
    if options.differing:
        return 0 if all(outcome.status != "passed" for outcome in outcomes) else 1
    print(summary(tests, outcomes, "a gateway" if options.socket else "the router of the tests"))
    return 0 if all(outcome.status == "passed" for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
