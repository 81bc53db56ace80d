"""A client that calls others, and serves if it is one of them, until the file stop is there.

Usage: going_on.py DIRECTORY NAME SERVERS. Writes NAME.runs, a line for each call that ran here, and NAME.calls, a line for
each outcome: the call, "ok" or the code of the error, and the worker id that the gateway gave to this process.
"""

import os
import random
import sys
import time

import waybill


def lines(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    return lambda *words: os.write(fd, (" ".join(map(str, words)) + "\n").encode())


directory, name, servers = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
runs = lines(os.path.join(directory, name + ".runs"))
calls = lines(os.path.join(directory, name + ".calls"))


@waybill.operation("test.run")
def run(key, seconds):
    runs(key)
    time.sleep(seconds)
    return {"key": key}


with waybill.connect(name, serve=name in servers) as client:
    number = 0
    while not os.path.exists(os.path.join(directory, "stop")):
        number += 1
        key = "%s-%d" % (name, number)
        to = servers[number % len(servers)]
        try:
            found = client.call("test.run", to=to, key=key, seconds=random.choice((0, 0, 0.05)), timeout=60)
            outcome = "ok" if found == {"key": key} else "wrong"
        except waybill.CallError as e:
            outcome = e.code
            if outcome not in ("WORKER_LOST", "UNKNOWN_WORKER"):
                print("%s: %s" % (key, e), file=sys.stderr, flush=True)
        calls(key, outcome, client._worker.connection.welcome["worker"])
        time.sleep(0.1)
