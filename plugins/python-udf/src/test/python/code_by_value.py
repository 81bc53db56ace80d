"""A worker that calls the pool of a node with code, and without."""

import operator
import sys

from waybill import rpc
from waybill.errors import CallError


def main(name):
    rpc.init_rpc(name)
    for function, args in [(eval, ("6 * 7",)), (operator.mul, (6, 7))]:
        try:
            print(function.__name__, rpc.rpc_sync("server", function, args=args))
        except CallError as e:
            print(function.__name__, e.code, "by.value" in str(e))
    rpc.shutdown(graceful=False)


if __name__ == "__main__":
    main(sys.argv[1])
