"""Sends values and times through a node: to another process, and to the node's pool. Prints what was not as it should be."""

import sys

from tests import round_trips


def main(name, libraries):
    round_trips.import_libraries(libraries)
    import waybill
    from waybill import rpc

    options = rpc.WaybillRpcBackendOptions(rpc_timeout=60)
    if name.startswith("callee"):
        for function in (round_trips.answer, round_trips.received, round_trips.wait_for_gate):
            waybill.operation("trip." + function.__name__)(function)
        rpc.init_rpc(name, rpc_backend_options=options)
        waybill.connect(name + "-by-name")
        print("ready", flush=True)
        sys.stdin.read()
        rpc.shutdown(graceful=False)
        return
    rpc.init_rpc(name, rpc_backend_options=options)
    served = "callee" + name[1:]
    for to in (served, "server"):
        show(to + " rpc_sync", round_trips.check_pickled(lambda f, v: rpc.rpc_sync(to, f, args=(v,))))
        show(to + " rpc_async", round_trips.check_pickled(lambda f, v: rpc.rpc_async(to, f, kwargs={"x": v}).wait()))
        if to == served or not libraries:
            # each object that a process of the pool keeps lives as long as its reference
            show(to + " remote", round_trips.check_pickled(lambda f, v: rpc.remote(to, f, args=(v,)).to_here()))
    show("by name", round_trips.check_named(
        lambda **fields: waybill.call("trip.answer", to=served + "-by-name", **fields),
        lambda: waybill.call("trip.received", to=served + "-by-name").get("answer", 0),
    ))
    if not libraries:
        times(rpc, waybill, served)
    large(rpc, served, libraries)
    rpc.shutdown(graceful=False)
    print("end", flush=True)


def times(rpc, waybill, served):
    for name, entry in round_trips.rpc_entries(served).items():
        show(name, round_trips.check_times(entry, "default", "CallTimeout"))
    show("call", round_trips.check_times(
        lambda timeout, f: waybill.call("trip." + f.__name__, to=served + "-by-name", timeout=timeout),
        "ValueError", "ValueError",
    ))
    rpc.rpc_sync(served, round_trips.open_gate)


def large(rpc, served, libraries):
    for to in (served, "server"):
        result, _ = rpc.rpc_sync(to, round_trips.echo, args=(round_trips.long_text(100 << 20),))
        print(to[:6], "pickle", len(result["text"]), flush=True)
        if libraries:
            for count in (1025, 5000):
                print(to[:6], "sum", rpc.rpc_sync(to, round_trips.sum_of, args=(round_trips.many(count),)), flush=True)
            try:
                rpc.rpc_sync(to, round_trips.sum_of, args=(round_trips.many(40000),))
            except ValueError as e:
                print(to[:6], e, flush=True)
    if libraries:
        for count in (1025, 5000):
            print("back", round_trips.sum_of(rpc.rpc_sync(served, round_trips.many, args=(count,))), flush=True)
        try:
            rpc.rpc_sync(served, round_trips.many, args=(40000,))
        except RuntimeError as e:
            print("back", e, flush=True)
        print("back", len(rpc.rpc_sync(served, round_trips.many, args=(2,))), flush=True)


def show(what, wrong):
    for text in wrong:
        print("%s: %s" % (what, text), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
