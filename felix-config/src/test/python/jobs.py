"""A member of a group: prints the members as one of the others sees them, and that a reference's owner agrees."""

import sys

from waybill import rpc


def members():
    infos = rpc.api._get_current_rpc_agent().get_worker_infos()
    return " ".join("%s=%d" % (info.name, info.id) for info in sorted(infos, key=lambda info: info.id))


def owns(reference, rank):
    return reference.is_owner() and reference.owner().id == rank == rpc.get_worker_info().id


if __name__ == "__main__":
    name, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    # the callee imports it under this name
    from jobs import members, owns

    rpc.init_rpc(name, rank=rank, world_size=size)
    other = (rank + 1) % size
    reference = rpc.remote(other, str.upper, args=("made",))
    assert rpc.rpc_sync(other, owns, args=(reference, other)), "the owner is the worker of rank %d" % other
    assert reference.to_here() == "MADE" and reference.owner().id == other
    del reference
    found = rpc.rpc_sync(other, members)
    rpc.shutdown()
    print(found)
