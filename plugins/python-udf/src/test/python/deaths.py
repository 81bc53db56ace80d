"""A worker whose functions end their pool processes in many ways, while others work: says what each call cost."""

import collections
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time

from waybill import rpc
from waybill.errors import CallError

LARGE = bytes(range(256)) * 1200  # travels through the memory that processes share with the gateway
HANG_SECONDS = 2


def exits(_):
    os._exit(7)


def is_killed(_):
    os.kill(os.getpid(), signal.SIGKILL)


def crashes(_):
    ctypes.string_at(0)


def starves(_):
    resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
    try:
        held = []
        while True:
            held.append(bytearray(1 << 24))
    except MemoryError:
        os.abort()  # as native code does


def hangs(_):
    time.sleep(1000)


def spins(_):
    while True:
        pass


def holds_the_interpreter(_):
    ctypes.PyDLL(None).sleep(1000)


def leaves_processes(data):
    subprocess.Popen(["sleep", data[1]])
    subprocess.Popen(["sh", "-c", "sleep %s; sleep %s" % (data[1], data[1])])
    os._exit(3)


def closes_its_connection(_):
    os.closerange(3, 1024)
    os._exit(4)


def same(data):
    return data


LOST, LATE = "WORKER_LOST", "TIMED_OUT"
DEATHS = [
    (exits, LOST),
    (is_killed, LOST),
    (hangs, LATE),
    (crashes, LOST),
    (starves, LOST),
    (leaves_processes, LOST),
    (spins, LATE),
    (holds_the_interpreter, LATE),
    (closes_its_connection, LOST),
]


def die(number, sleep):
    """Returns what the death cost."""
    function, expected = DEATHS[number % len(DEATHS)]
    try:
        rpc.rpc_sync("server", function, args=((LARGE, sleep),), timeout=HANG_SECONDS if expected == LATE else 0)
        return function.__name__ + " RETURNED"
    except CallError as e:
        return "as expected" if e.code == expected else "%s %s %s" % (function.__name__, e.code, e)


def work(number):
    """Returns whether another call is right."""
    data = (number, LARGE if number % 3 == 0 else b"small")
    return rpc.rpc_sync("server", same, args=(data,), timeout=0) == data


def run(threads, body):
    started = [threading.Thread(target=body) for _ in range(threads)]
    for thread in started:
        thread.start()
    return started


def main(name, deaths, sleep):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rpc.init_rpc(name)
    numbers = collections.deque(range(deaths))
    costs, worked = collections.Counter(), collections.Counter()
    over = threading.Event()

    def kill():
        while True:
            try:
                number = numbers.popleft()
            except IndexError:
                return
            cost = die(number, sleep)
            costs[cost] += 1

    def live():
        number = 0
        while not over.is_set():
            try:
                worked[work(number)] += 1
            except Exception as e:
                worked["%s: %s" % (type(e).__name__, e)] += 1
            number += 1

    others = run(2, live)
    for thread in run(4, kill):
        thread.join()
    over.set()
    for thread in others:
        thread.join()
    worked[work(0)] += 1
    print("deaths", sorted(costs.items()))
    print("others", sorted(worked, key=str), "in flight", rpc.state.current_agent().worker.connection.in_flight())
    print("worked", worked[True], flush=True)
    rpc.shutdown(graceful=False)


if __name__ == "__main__":
    import deaths  # functions are named by their module, which is not __main__

    deaths.main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
