"""Workers with remote references: this process is one of three, and `ann` says what it sees of the others' objects."""

import gc
import operator
import os
import sys
import time

from waybill import rpc
from waybill.errors import CallError


class Adder:
    def __init__(self, start):
        self.sum = start

    def add(self, more):
        self.sum += more
        return self.sum


class Failing:
    def __init__(self):
        raise KeyError("no such thing")


def here(rref):
    return rref.to_here()


def local(rref):
    return rref.local_value().sum


def made(value):
    return rpc.RRef(value)


def counters():
    return {key: int(value) for key, value in rpc.api._rref_context_get_debug_info().items()}


def objects():
    return len(rpc.state.current_agent().worker.objects)


def until(what, condition):
    end = time.monotonic() + 120
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("%s did not happen; counters %s" % (what, counters()))
        time.sleep(0.01)


def ask_everybody():
    summed = rpc.remote("bob", operator.add, args=(2, 3))
    print("to_here", summed.to_here())
    print("third", rpc.rpc_sync("cid", here, args=(summed,)))
    summed._get_future().wait()
    print("confirmed", summed.confirmed_by_owner(), summed.owner_name(), summed.is_owner())
    adder = rpc.remote("bob", Adder, args=(10,))
    print("method", adder.rpc_sync().add(5), adder.rpc_async().add(1).wait(), adder.remote().add(1).to_here())
    print("local", rpc.rpc_sync("bob", local, args=(adder,)))
    own = rpc.RRef([1, 2])
    print("own", rpc.rpc_sync("cid", here, args=(own,)), own.local_value())
    itself = rpc.remote("ann", operator.mul, args=(6, 7))
    print("itself", itself.to_here(), itself.is_owner())
    failing = rpc.remote("bob", Failing)
    try:
        failing.to_here()
    except KeyError as e:
        print("raised", "no such thing" in str(e))
    pooled = rpc.remote("server", operator.mul, args=("ab", 2))
    print("pool", pooled.to_here())
    for number in range(30):
        assert rpc.rpc_sync("bob", made, args=(number,)).to_here() == number
    until("bob holds three objects", lambda: rpc.rpc_sync("bob", objects) == 3)


def is_lost(rref):
    try:
        rref.to_here()
    except CallError as e:
        # the fetch that was in flight ends with WORKER_LOST
        if e.code == "OWNER_LOST":
            print("lost", type(e).__name__, e)
            return True
        print("then", e.code, file=sys.stderr, flush=True)
    return False


def main(name):
    rpc.init_rpc(name)
    if name != "ann":
        print("ready", flush=True)
        sys.stdin.readline()
    else:
        ask_everybody()
        gc.collect()
        until("ann owns nothing", lambda: objects() == 0 and counters()["num_owner_rrefs"] == 0)
        for other in ("bob", "cid"):
            until(other + " owns nothing", lambda: rpc.rpc_sync(other, objects) == 0)
            until(other + " has no forks", lambda: sum(rpc.rpc_sync(other, counters).values()) == 0)
        print("deleted", counters(), flush=True)
        lost = rpc.remote("bob", Adder, args=(1,))
        lost._get_future().wait()
        rpc.rpc_async("bob", os._exit, args=(3,))
        until("bob is gone", lambda: is_lost(lost))
    rpc.shutdown(graceful=False)


if __name__ == "__main__":
    import references  # functions are named by their module, which is not __main__

    references.main(sys.argv[1])
