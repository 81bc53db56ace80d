"""A worker whose operation calls the next one of a path; at its end the process is killed. One that is named first begins, and says what it got."""

import os
import signal
import sys

import waybill

client = None


@waybill.operation("nest")
def nest(path):
    if not path:
        os.kill(os.getpid(), signal.SIGKILL)
    to, _, rest = path.partition(",")
    return client.call("nest", to=to, path=rest)


@waybill.operation("wrap")
def wrap(path):
    try:
        return nest(path)
    except waybill.CallError as e:
        raise ValueError("wrapped") from e


def main(name, *arguments):
    global client
    client = waybill.connect(name)
    if name == "first":
        for operation in arguments[1:]:
            try:
                client.call(operation, to="one", path=arguments[0])
            except waybill.CallError as e:
                print(operation, e.code, e.root_code, e.root_id, flush=True)
    else:
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
