"""All pairs in PyTorch's RPC: every process calls every other one in turn, with an empty function.

Arguments: the port of the first process, processes, first seconds, seconds to warm up, measured seconds.
Prints one line: name=value pairs, times in nanoseconds.
"""

import logging
import os
import sys
import time

import torch
import torch.distributed.rpc as rpc
import torch.multiprocessing as mp


def empty():
    pass


def call_for(seconds, others):
    times = []
    position = 0
    start = at = time.perf_counter_ns()
    while at - start < seconds * 1_000_000_000:
        rpc.rpc_sync(others[position], empty)
        position = (position + 1) % len(others)
        now = time.perf_counter_ns()
        times.append(now - at)
        at = now
    return times


def member(rank, port, count, first_seconds, warm_up_seconds, seconds, results):
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    os.environ.setdefault("TP_SOCKET_IFNAME", "lo")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=count)
    others = [f"worker{other}" for other in range(count) if other != rank]
    first = call_for(first_seconds, others)
    call_for(warm_up_seconds, others)
    results.put((len(first), call_for(seconds, others)))
    rpc.shutdown()


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def main():
    port, count, first_seconds, warm_up_seconds, seconds = (int(each) for each in sys.argv[1:6])
    context = mp.get_context("spawn")
    results = context.Queue()
    processes = mp.spawn(
        member,
        args=(port, count, first_seconds, warm_up_seconds, seconds, results),
        nprocs=count,
        join=False,
    )
    first, times = 0, []
    for _ in range(count):
        of_member = results.get()
        first += of_member[0]
        times += of_member[1]
    while not processes.join():
        pass
    times.sort()
    print(
        f"cold_calls_per_s={first // first_seconds} calls_per_s={len(times) // seconds}"
        f" p50_ns={percentile(times, 0.5)} p99_ns={percentile(times, 0.99)} p999_ns={percentile(times, 0.999)}"
        f" max_ns={times[-1]}"
    )


if __name__ == "__main__":
    main()
