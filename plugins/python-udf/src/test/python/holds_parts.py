"""A worker that sends large buffers and keeps those that it gets, by commands on its input; it responds to each with a line."""

import os
import pickle
import sys
import time

from waybill import gateway, parts
from waybill.errors import CallError
from waybill.worker import Worker

worker = None
held = []
buffers = []
MINUTE = 60 * 10**9
NEVER = 1e9


def take(view, keep):
    """Notes what it gets; says its bytes and whether it was mapped."""
    said = describe(view)
    if keep:
        held.append(view)
    return "%s %d mapped" % (said, worker.connection.storages.parts.in_use())


def echo(view):
    view[0] = 77
    return pickle.PickleBuffer(view)


def die(view):
    os._exit(view[0])


def describe(view):
    found = sorted(set(bytes(view[::4096])))
    return "%d bytes of %s" % (len(view), found)


def send(to, function, pattern, megabytes, *more):
    return send_buffer(to, function, bytearray([pattern]) * (megabytes << 20), *more)


def send_buffer(to, function, content, *more):
    arguments = (pickle.PickleBuffer(content),) + more
    if all(each.info.name != to for each in worker.workers()):
        return "failed: no such worker"
    try:
        result = worker.result_of(worker.wait(worker.call_python(to, function, arguments, {}, MINUTE)))
    except CallError as e:
        return "failed: %s %s" % (e.code, e)
    if hasattr(result, "error"):
        return "failed %s" % result.error
    return result if isinstance(result, str) else describe(result) + " was %s" % describe(content)


def run(command):
    what, *rest = command.split()
    if what == "send":
        return send(rest[0], take, int(rest[1]), int(rest[2]), rest[3] == "keep")
    if what == "echo":
        return send(rest[0], echo, int(rest[1]), int(rest[2]))
    if what == "buffer":
        buffers.append(worker.connection.buffer(int(rest[0]) << 20))
        return describe(buffers[0])
    if what == "again":
        buffers[0][::4096] = bytes([int(rest[1])]) * (len(buffers[0]) // 4096)
        return send_buffer(rest[0], take, buffers[0], False)
    if what == "nobuffer":
        buffers.clear()
        return "none"
    if what == "die":
        return send("server", die, 3, int(rest[0]))
    if what == "held":
        return ", ".join(map(describe, held))
    if what == "drop":
        held.clear()
        return "%d mapped" % worker.connection.storages.parts.in_use()
    if what == "mapped":
        return "%d mapped" % worker.connection.storages.parts.in_use()
    if what == "late":
        # as a process that does not get to run when its gateway ends
        parts.Parts.copy_all = lambda self: None
        parts._KEPT_SECONDS = NEVER
        return "late"
    if what == "keep":
        parts._KEPT_SECONDS = NEVER
        return "keeps"
    if what == "cut":
        # it does not connect again: its worker is gone
        worker._connections.close()
        worker.connection.close()
        while worker.connection._end is None:
            time.sleep(0.001)
        return "cut"
    if what == "leave":
        worker.leave()
        return "left"
    return "unknown"


def main(name):
    global worker
    worker = Worker(gateway.find(os.environ["WAYBILL_HOME"]), {"role": "client", "name": name})
    worker.start()
    print("ready" if parts.are_possible() else "impossible", flush=True)
    for line in sys.stdin:
        print(run(line), flush=True)


if __name__ == "__main__":
    import holds_parts  # functions are named by their module, which is not __main__

    holds_parts.main(sys.argv[1])
