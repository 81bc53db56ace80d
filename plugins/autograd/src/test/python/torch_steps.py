"""Times steps of PyTorch's distributed autograd, for StepTimesTest.

Two processes on the loopback interface: this one is worker0, and starts worker1. A step is torch.mul of a float32 matrix with itself on worker1, a sum
here, a backward pass, and the end of the context. Prints PyTorch's version, and a line with the nanoseconds of each step. With two cores or more each process has one for
itself, which is how PyTorch is fastest.

usage: python3 torch_steps.py DIRECTORY ROWS STEPS    a directory without the file "store", with which the processes find each other
"""

import os
import subprocess
import sys
import time

os.environ["TP_SOCKET_IFNAME"] = "lo"
os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc


def join(rank, directory):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(0, {cores[rank]})
    torch.set_num_threads(1)
    rpc.init_rpc(
        "worker%d" % rank,
        rank=rank,
        world_size=2,
        rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="file://" + os.path.join(directory, "store")),
    )


def step(matrix):
    begin = time.perf_counter_ns()
    with dist_autograd.context() as context:
        loss = rpc.rpc_sync("worker1", torch.mul, args=(matrix, matrix)).sum()
        dist_autograd.backward(context, [loss])
    return time.perf_counter_ns() - begin


def main():
    directory = sys.argv[1]
    if len(sys.argv) == 2:
        join(1, directory)
        rpc.shutdown()
        return
    rows, steps = int(sys.argv[2]), int(sys.argv[3])
    other = subprocess.Popen([sys.executable, os.path.abspath(__file__), directory])
    try:
        join(0, directory)
        matrix = torch.full((rows, rows), 0.5, requires_grad=True)
        for _ in range(steps // 10):
            step(matrix)
        print(torch.__version__, flush=True)
        print(*[step(matrix) for _ in range(steps)], flush=True)
        rpc.shutdown()
        other.wait(60)
    finally:
        other.kill()


main()
