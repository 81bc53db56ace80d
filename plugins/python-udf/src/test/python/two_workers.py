"""A worker that calls another one, which may call back, and the pool of the node; or the other one, until its input ends."""

import operator
import os
import sys

from waybill import gateway
from waybill.worker import Worker

worker = None
MINUTE = 60 * 10**9


def call(to, function, *args):
    result = worker.result_of(worker.wait(worker.call_python(to, function, args, {}, MINUTE)))
    if hasattr(result, "error"):
        print("failed", result.error)
    return result


def back(to, left, right):
    return call(to, operator.add, left, right)


def main(name):
    global worker
    worker = Worker(gateway.find(os.environ["WAYBILL_HOME"]), {"role": "client", "name": name})
    worker.start()
    if name == "one":
        print("ready", flush=True)
        sys.stdin.read()
    else:
        print("sum", call("one", operator.add, 2, 3))
        print("back", call("one", back, "two", "to ", "be"))
        print("large", len(call("one", operator.mul, b"x", 300000)))
        print("pool", call("server", operator.mul, 6, 7))
        print("count", worker.call_named("server", "text.count", (), {"text": "to be"}, MINUTE)["words"])
    worker.leave()


if __name__ == "__main__":
    import two_workers  # functions are named by their module, which is not __main__

    two_workers.main(sys.argv[1])
