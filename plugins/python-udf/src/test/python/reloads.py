"""A worker that changes a module which a pool has imported: says which version its calls ran."""

import os
import sys
import time

from waybill import rpc

SOURCE = """
import os, time

def version():
    return %d

def slow(begun, until):
    open(begun, "w").close()
    while not os.path.exists(until):
        time.sleep(0.01)
    return version(), os.getpid()
"""


def write(path, number):
    with open(path + ".new", "w") as file:
        file.write(SOURCE % number)
    os.replace(path + ".new", path)


def main(name, directory):
    path, go = os.path.join(directory, "changing.py"), os.path.join(directory, "go")
    write(path, 1)
    sys.path.insert(0, directory)
    import changing

    rpc.init_rpc(name)
    assert rpc.rpc_sync("server", changing.version, timeout=0) == 1
    kept = rpc.remote("server", changing.version, timeout=0)
    begun = os.path.join(directory, "begun")
    slow = rpc.rpc_async("server", changing.slow, args=(begun, go), timeout=0)
    while not os.path.exists(begun):
        time.sleep(0.01)
    write(path, 2)
    while rpc.rpc_sync("server", changing.version, timeout=0) != 2:
        pass
    print("changed")
    print("kept", kept.to_here())
    with open(go, "w"):
        pass
    result, pid = slow.wait()
    print("slow", result)
    print("kept", kept.to_here())
    del kept
    print("pid", pid, flush=True)
    rpc.shutdown(graceful=False)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
