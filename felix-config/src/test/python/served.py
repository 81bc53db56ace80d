"""A program that serves functions and an operation, and calls another worker for them, until its input ends."""

import sys

import waybill
from waybill import rpc

counted = 0


class Point:
    def __init__(self, x):
        self.x = x


@waybill.operation("points.count")
def count(by):
    global counted
    counted += by
    return {"count": counted}


def scale(point, by=2):
    return Point(point.x * by)


def mean(to, values):
    """Calls on behalf of its caller."""
    return rpc.rpc_sync(to, sum, args=(values,)) / len(values), rpc.get_worker_info().name


def fail(text):
    raise KeyError(text)


if __name__ == "__main__":
    rpc.init_rpc(sys.argv[1])
    print("serving", flush=True)
    sys.stdin.readline()
    rpc.shutdown(graceful=False)
