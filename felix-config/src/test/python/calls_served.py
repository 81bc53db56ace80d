"""Calls what served.py serves, under the names that its functions have where it is imported, and where it is run."""

import served
import waybill
from waybill import rpc


class Point(served.Point):
    pass


def scale(point, by):
    """In the place of that of the program that serves."""


rpc.init_rpc("caller")
assert rpc.rpc_sync("server", served.scale, args=(served.Point(2),)).x == 4
assert rpc.rpc_sync("server", scale, args=(Point(2), 3)).x == 6
assert rpc.rpc_sync("server", served.mean, args=("helper", [1, 2, 6])) == (3, "server")
assert rpc.rpc_sync("server", sorted, args=([3, 1, 2],), kwargs={"reverse": True}) == [3, 2, 1]
assert rpc.remote("server", served.scale, args=(served.Point(1),)).to_here().x == 2
try:
    rpc.rpc_sync("server", served.fail, args=("planted",))
except KeyError:
    pass
assert waybill.call("points.count", to="server", by=1) == {"count": 1}
assert waybill.call("points.count", to="server", by=2) == {"count": 3}
rpc.shutdown(graceful=False)
