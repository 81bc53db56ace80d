"""Calls of Python functions between two processes, by waybill.rpc or by PyTorch's RPC.

Arguments: the port of the first process, `waybill` or `torch`, calls, megabytes of the tensor, transfers, idle seconds.
Prints one line: name=value pairs, times in nanoseconds. The second process is this script with `serve` as a seventh
argument. For waybill, $WAYBILL_HOME names a home with a gateway, and PYTHONPATH the package.
"""

import logging
import os
import subprocess
import sys
import threading
import time

sys.modules["python_calls"] = sys.modules["__main__"]


def empty():
    pass


def same(value):
    return value


def taken(value):
    return len(value)


empty.__module__ = same.__module__ = taken.__module__ = "python_calls"
over = threading.Event()


def end():
    over.set()


end.__module__ = "python_calls"


def join(kind, port, rank):
    """Joins a group of two and returns the module to call by."""
    logging.disable(logging.CRITICAL)
    if kind == "waybill":
        from waybill import rpc

        rpc.init_rpc("worker%d" % rank, rank=rank, world_size=2)
        return rpc
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = port
    os.environ.setdefault("TP_SOCKET_IFNAME", "lo")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    import torch
    import torch.distributed.rpc as rpc

    torch.set_num_threads(1)
    rpc.init_rpc("worker%d" % rank, rank=rank, world_size=2)
    return rpc


def tensor_of(megabytes):
    """A tensor of torch where there is one, otherwise an array of numpy or a bytearray."""
    try:
        import torch

        return torch.ones(megabytes << 18, dtype=torch.float32)
    except ImportError:
        pass
    try:
        import numpy

        return numpy.ones(megabytes << 18, dtype=numpy.float32)
    except ImportError:
        return bytearray(megabytes << 20)


def in_buffer(rpc, megabytes):
    """A tensor or array in memory from which it is sent without a copy; an ordinary one where there is none."""
    if not hasattr(rpc, "buffer"):
        return tensor_of(megabytes)
    memory = rpc.buffer(megabytes << 20)
    try:
        import torch

        return torch.frombuffer(memory, dtype=torch.float32).fill_(1)
    except ImportError:
        pass
    try:
        import numpy

        return numpy.frombuffer(memory, dtype=numpy.float32)
    except ImportError:
        import pickle

        return pickle.PickleBuffer(memory)


def element():
    """A tensor of one element where there are tensors, otherwise None."""
    try:
        import torch
    except ImportError:
        return None
    return torch.ones(1)


def times_of(rpc, count, function, args=()):
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        rpc.rpc_sync("worker1", function, args=args)
        times.append(time.perf_counter_ns() - start)
    return sorted(times)


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def measure(rpc, calls, megabytes, transfers, seconds):
    times_of(rpc, max(200, calls // 2), empty)
    busy = time.process_time_ns()
    times = times_of(rpc, calls, empty)
    busy = time.process_time_ns() - busy
    figures = {
        "p50_ns": percentile(times, 0.5),
        "p99_ns": percentile(times, 0.99),
        "mean_ns": sum(times) // len(times),
        "caller_cpu_ns": busy // len(times),
    }
    one = element()
    if one is not None:
        times_of(rpc, max(200, calls // 2), same, (one,))
        figures["element_p50_ns"] = percentile(times_of(rpc, calls, same, (one,)), 0.5)
    if megabytes:
        value = tensor_of(megabytes)
        times_of(rpc, 2, same, (value,))
        figures["tensor_ns"] = percentile(times_of(rpc, transfers, same, (value,)), 0.5)
        figures["sent_ns"] = percentile(times_of(rpc, transfers, taken, (value,)), 0.5)
        value = in_buffer(rpc, megabytes)
        times_of(rpc, 2, taken, (value,))
        figures["buffer_ns"] = percentile(times_of(rpc, transfers, taken, (value,)), 0.5)
        del value
    if seconds:
        time.sleep(1)
        busy, start = time.process_time_ns(), time.perf_counter_ns()
        time.sleep(seconds)
        figures["idle_cores"] = "%.6f" % ((time.process_time_ns() - busy) / (time.perf_counter_ns() - start))
    return figures


def main():
    port, kind = sys.argv[1:3]
    if len(sys.argv) > 7:
        rpc = join(kind, port, 1)
        over.wait()
        rpc.shutdown()
        return
    calls, megabytes, transfers, seconds = (int(each) for each in sys.argv[3:7])
    server = subprocess.Popen([sys.executable] + sys.argv + ["serve"], stdout=subprocess.DEVNULL)
    try:
        rpc = join(kind, port, 0)
        figures = measure(rpc, calls, megabytes, transfers, seconds)
        rpc.rpc_sync("worker1", end)
        rpc.shutdown()
        server.wait(60)
    finally:
        server.kill()
    print(" ".join("%s=%s" % (name, value) for name, value in figures.items()))


if __name__ == "__main__":
    main()
