"""A gateway of the tests: passes calls between Python processes in memory, by the protocol's page, without a home.

It has no journals and no peers of other languages. Run as a program it serves until its standard input ends.
"""

import heapq
import itertools
import os
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from waybill import frames
from waybill.errors import NUMBERS
from waybill.frames import Message, Reference
from waybill.values import Invocation, decode_invocation, decode_value, encode_value

Complete = Callable[[Optional[frames.Result], Message, Optional[Tuple[int, int, str]]], None]
_INLINE_MAX = 65536


class Kept:
    """A value that references name."""

    def __init__(self, owner: "Peer", number: Optional[int] = None) -> None:
        self.owner = owner
        self.number = number
        self.error: Optional[Tuple[int, int, str]] = None
        self.handles = 0
        self.ids = (0, 0)
        self._waiting: List[Callable[[], None]] = []
        self._lock = threading.Lock()

    def when_ready(self, action: Callable[[], None]) -> None:
        with self._lock:
            if self.number is None and self.error is None:
                self._waiting.append(action)
                return
        action()

    def settle(self, number: Optional[int], error: Optional[Tuple[int, int, str]]) -> None:
        with self._lock:
            if self.number is not None or self.error is not None:
                return
            self.number, self.error = number, error
            waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()


class Clock:
    """Runs actions at their time, on a thread of its own."""

    def __init__(self) -> None:
        self._due: List[Tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._changed = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._count), action))
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > time.monotonic():
                    self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
                action = heapq.heappop(self._due)[2]
            action()


class Peer:
    """A connected process."""

    def __init__(self, router: "Router", connection: socket.socket) -> None:
        self.router = router
        self.socket = connection
        self.name = ""
        self.id = -1
        self.member: Any = None
        self.leaving: Optional[Tuple[List[str], float, Complete]] = None
        self._lock = threading.Lock()
        self._exchanges = itertools.count(1)
        self._handles = itertools.count(1)
        self.handles: Dict[int, Kept] = {}
        self.served: Dict[int, Complete] = {}
        self._in: Any = None
        self._out: Any = None
        self._in_at = 0

    def run(self) -> None:
        try:
            if self._greet():
                while True:
                    kind, exchange, body = self._frame()
                    self._take(kind, exchange, body)
        except (OSError, EOFError):
            pass
        finally:
            self.router.gone(self)

    def _frame(self) -> Tuple[int, int, memoryview]:
        head = self._exactly(frames.HEAD.size)
        length, kind, _, _, exchange = frames.HEAD.unpack(head)
        return kind, exchange, self._exactly(length)

    def _exactly(self, length: int) -> memoryview:
        content = bytearray()
        while len(content) < length:
            piece = self.socket.recv(min(length - len(content), 1 << 20))
            if not piece:
                raise EOFError
            content += piece
        return memoryview(content)

    def _greet(self) -> bool:
        kind, _, body = self._frame()
        hello = decode_value(body)
        # others may call it as soon as it is admitted; their requests follow the WELCOME
        with self._lock:
            problem = self.router.admit(self, hello) if kind == frames.HELLO else "expected HELLO"
            self._send([frames.failed(0, NUMBERS["REFUSED"], 0, problem) if problem else self._welcome(hello)])
        return not problem

    def _welcome(self, hello: Dict[str, Any]) -> bytes:
        if "out" in hello:
            self._out = os.open("/proc/%d/fd/%d" % (hello["pid"], hello["out"]), os.O_RDONLY)
            self._in = os.open("/proc/%d/fd/%d" % (hello["pid"], hello["in"]), os.O_RDWR)
        welcome = {
            "protocol": 1,
            "worker": self.id,
            "name": self.name,
            "epoch": 1,
            "home": "",
            "regions": self._in is not None,
            "max_frame": frames.MAX_FRAME,
            "inline_max": _INLINE_MAX,
            "by_value": True,
            "path": [],
        }
        return frames.frame(frames.WELCOME, 0, encode_value(welcome))

    def write(self, pieces: List[Any]) -> None:
        with self._lock:
            self._send(pieces)

    def _send(self, pieces: List[Any]) -> None:
        try:
            for piece in pieces:
                self.socket.sendall(piece)
        except OSError:
            pass

    def _take(self, kind: int, exchange: int, body: memoryview) -> None:
        if kind == frames.CALL:
            call, at = frames.read_call(body)
            self.router.call(self, exchange, call, self._message(body, at))
        elif kind == frames.RESULT:
            result, at = frames.read_result(body)
            self.served.pop(exchange)(result, self._message(body, at), None)
        elif kind == frames.FAILED and exchange:
            self.served.pop(exchange)(None, Message(), frames.read_failed(body))
        elif kind == frames.DROP:
            for handle in frames.read_numbers(body):
                self.router.release(self.handles.pop(handle))
        elif kind == frames.LEAVE:
            self.write([frames.frame(frames.LEAVE, 0)])
            raise EOFError
        elif kind == frames.FAILED:
            print("router: %s: %s" % (self.name, frames.read_failed(body)), file=sys.stderr)
            raise EOFError

    def _message(self, body: memoryview, at: int) -> Message:
        return frames.read_message(body, at, self._read_region)

    def _read_region(self, position: int, size: int) -> memoryview:
        content = bytearray(size)
        done = 0
        while done < size:
            done += os.preadv(self._out, [memoryview(content)[done:]], position + done)
        self.write([frames.numbers(frames.RELEASE, [position])])
        return memoryview(content)

    def write_message(self, kind: int, exchange: int, prefix: bytes, message: Message) -> None:
        places: List[frames.Where] = []
        for storage in message.storages:
            if len(storage) <= _INLINE_MAX or self._in is None:
                places.append(frames.INLINED)
                continue
            with self._lock:
                position = self._in_at
                self._in_at += (len(storage) + 63) // 64 * 64
            os.pwrite(self._in, storage, position)
            places.append(frames.in_region(position))
        self.write(frames.message_frame(kind, exchange, prefix, message, places, frames.MAX_FRAME))

    def give(self, kept: Kept) -> Reference:
        """A handle of this process for a value."""
        handle = next(self._handles)
        self.handles[handle] = kept
        with self.router.lock:
            kept.handles += 1
        flags = (1 if kept.owner is self else 0) | (2 if kept.number is not None else 0)
        return Reference(handle, kept.owner.id, flags)

    def serve(self, call: frames.Call, message: Message, sender: "Peer", done: Complete) -> None:
        """Has this process serve a request."""
        exchange = next(self._exchanges)
        self.served[exchange] = done
        references = [self.give(sender.handles[r.handle]) for r in message.references]
        prefix = frames.call_prefix(call._replace(sender=sender.id & 0xFFFF, receiver="", parent=exchange))
        self.write_message(frames.CALL, exchange, prefix, message._replace(references=references))


class Router:
    """Processes by name, and calls between them."""

    def __init__(self, path: str) -> None:
        self.lock = threading.RLock()
        self.peers: Dict[str, Peer] = {}
        self._clock = Clock()
        self._ids = itertools.count(0)
        # a name keeps its id, as in a home
        self._ids_of_names: Dict[str, int] = {}
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if os.path.exists(path):
            os.unlink(path)
        self._listening.bind(path)
        self._listening.listen(64)
        self.path = path
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()
        os.unlink(self.path)
        for peer in list(self.peers.values()):
            peer.socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=Peer(self, connection).run, daemon=True).start()

    def admit(self, peer: Peer, hello: Dict[str, Any]) -> str:
        with self.lock:
            name = hello.get("name", "pool")
            if hello.get("numbered"):
                numbers = itertools.count(2)
                while name in self.peers:
                    name = "%s-%d" % (hello["name"], next(numbers))
            if name in self.peers:
                return "a live worker has the name %s" % name
            taken = self._ids_of_names.values()
            wanted = hello.get("id", -1)
            known = self._ids_of_names.get(name, -1)
            if wanted >= 0 and (wanted != known if known >= 0 else wanted in taken):
                return "worker %s has the id %d, and not %d; or another name has it" % (name, known, wanted)
            if known < 0:
                known = wanted if wanted >= 0 else next(i for i in itertools.count(100) if i not in taken)
                self._ids_of_names[name] = known
            peer.name = name
            peer.id = known
            peer.member = hello.get("member")
            self.peers[name] = peer
            return ""

    def gone(self, peer: Peer) -> None:
        peer.socket.close()
        with self.lock:
            if self.peers.get(peer.name) is not peer:
                return
            del self.peers[peer.name]
            others = list(self.peers.values())
            held = list(peer.handles.values())
            lost = [kept for other in others for kept in other.handles.values() if kept.owner is peer]
        error = (NUMBERS["WORKER_LOST"], 0, "Error on Node %d: the process of %s ended" % (peer.id, peer.name))
        for done in list(peer.served.values()):
            done(None, Message(), error)
        for kept in lost:
            kept.settle(None, error)
        for kept in held:
            self.release(kept)
        self._check_leaving()

    def release(self, kept: Kept) -> None:
        with self.lock:
            kept.handles -= 1
            last = kept.handles == 0
        if last:
            kept.when_ready(lambda: self._forget(kept))
        self._check_leaving()

    def _forget(self, kept: Kept) -> None:
        if kept.number is not None:
            kept.owner.write([frames.numbers(frames.FORGET, [kept.number])])

    # Calls

    def call(self, caller: Peer, exchange: int, call: frames.Call, message: Message) -> None:
        done = self._completion(caller, exchange, call)
        if not call.receiver:
            operation = decode_invocation(message.payload)
            if operation.name == "test.parent":
                done(frames.Result(frames.NAMED_RET, 0, 0, 0), Message(encode_value(call.parent)), None)
            else:
                self._operation(caller, operation, message, done)
            return
        with self.lock:
            receiver = self.peers.get(call.receiver)
            if receiver is None and call.receiver.isdigit():
                receiver = next((p for p in self.peers.values() if p.id == int(call.receiver)), None)
        if receiver is None:
            done(None, Message(), (NUMBERS["UNKNOWN_WORKER"], 0, "no worker %s" % call.receiver))
        elif call.flags & frames.CREATE:
            self._create(caller, receiver, call, message, done)
        else:
            receiver.serve(call, message, caller, self._between(receiver, caller, done))

    def _completion(self, caller: Peer, exchange: int, call: frames.Call) -> Complete:
        """The end of a call, once: by its response, its error, or its time."""
        once = threading.Lock()

        def done(result: Optional[frames.Result], message: Message, error: Optional[Tuple[int, int, str]]) -> None:
            if not once.acquire(False):
                return
            if error is not None:
                caller.write([frames.failed(exchange, *error)])
            else:
                assert result is not None
                caller.write_message(frames.RESULT, exchange, frames.result_prefix(result), message)

        if 0 < call.time_ns < frames.NO_DEADLINE:
            text = "RPCErr:1:RPC ran for more than set timeout (%d ms) and will now be marked with an error" % (
                call.time_ns // 1000000
            )
            self._clock.after(call.time_ns / 1e9, lambda: done(None, Message(), (NUMBERS["TIMED_OUT"], 1, text)))
        return done

    @staticmethod
    def _between(sender: Peer, receiver: Peer, done: Complete) -> Complete:
        """Passes a response on, with the receiver's handles in the place of the sender's."""

        def complete(result: Optional[frames.Result], message: Message, error: Optional[Tuple[int, int, str]]) -> None:
            references = [receiver.give(sender.handles[r.handle]) for r in message.references]
            done(
                result and result._replace(responder=sender.id & 0xFFFF), message._replace(references=references), error
            )

        return complete

    def _create(self, caller: Peer, owner: Peer, call: frames.Call, message: Message, done: Complete) -> None:
        kept = Kept(owner)
        kept.ids = (caller.id, next(self._ids))
        reference = caller.give(kept)

        def created(result: Optional[frames.Result], _: Message, error: Optional[Tuple[int, int, str]]) -> None:
            kept.settle(result.number if result else None, error)

        owner.serve(call._replace(type=frames.PYTHON_REMOTE_CALL), message, caller, created)
        done(frames.Result(frames.REMOTE_RET, 0, owner.id & 0xFFFF, 0), Message(references=[reference]), None)

    # Operations

    def _operation(self, caller: Peer, call: Invocation, message: Message, done: Complete) -> None:
        def value(content: Any) -> None:
            done(frames.Result(frames.NAMED_RET, 0, 0, 0), Message(encode_value(content)), None)

        fields = call.named
        if call.name == "gateway.workers":
            with self.lock:
                listed = sorted(self.peers.values(), key=lambda p: p is not caller)
            value({"workers": [{"id": p.id, "name": p.name, "epoch": 1, "member": p.member} for p in listed]})
        elif call.name == "gateway.reference.make":
            kept = Kept(caller, fields["object"])
            kept.ids = (caller.id, next(self._ids))
            done(
                frames.Result(frames.NAMED_RET, 0, 0, 0),
                Message(encode_value(None), references=[caller.give(kept)]),
                None,
            )
        elif call.name == "gateway.reference.debug":
            value(self._counters(caller))
        elif call.name == "gateway.shutdown":
            with self.lock:
                # it is no member for those that come now
                caller.member = None
                caller.leaving = (fields["workers"], time.monotonic() + fields["limit_ms"] / 1e3, done)
            self._clock.after(fields["limit_ms"] / 1e3, self._check_leaving)
            self._check_leaving()
        elif call.name.startswith("gateway.reference."):
            self._reference(caller, call.name, caller.handles[message.references[0].handle], done, value)
        else:
            done(None, Message(), (NUMBERS["UNKNOWN_OPERATION"], 0, "no operation %s" % call.name))

    def _reference(self, caller: Peer, name: str, kept: Kept, done: Complete, value: Callable[[Any], None]) -> None:
        def ready() -> None:
            if kept.error is not None:
                done(None, Message(), kept.error)
            elif name.endswith(".local"):
                value({"object": kept.number})
            elif name.endswith(".fetch"):
                request = Message(encode_value({"object": kept.number}))
                call = frames.Call(frames.PYTHON_RREF_FETCH_CALL, 0, 0, "", 0, frames.NO_DEADLINE)
                kept.owner.serve(call, request, caller, self._between(kept.owner, caller, done))
            else:
                value(None)

        if name.endswith(".info"):
            ids = list(kept.ids)
            confirmed = kept.number is not None
            value({"owner": kept.owner.id, "confirmed": confirmed, "rref_id": ids, "fork_id": ids})
        else:
            kept.when_ready(ready)

    def _counters(self, peer: Peer) -> Dict[str, str]:
        with self.lock:
            owned = {kept for p in self.peers.values() for kept in p.handles.values() if kept.owner is peer}
            forks = [k for p in self.peers.values() if p is not peer for k in p.handles.values() if k.owner is peer]
            users = [k for k in peer.handles.values() if k.owner is not peer and k.number is None and k.error is None]
        return {
            "num_owner_rrefs": str(len(owned)),
            "num_forks": str(len(forks)),
            "num_pending_users": str(len(users)),
            "num_pending_futures": "0",
        }

    def _check_leaving(self) -> None:
        """Ends the shutdown of all whose group has begun it, when no member holds a reference to another's value."""
        over = []
        with self.lock:
            for peer in list(self.peers.values()):
                if peer.leaving is None:
                    continue
                names, end, done = peer.leaving
                members = [self.peers[n] for n in names if n in self.peers]
                if all(m.leaving is not None for m in members) or time.monotonic() >= end:
                    over.append((peer, done))
            for peer, _ in over:
                peer.leaving = None if time.monotonic() >= (peer.leaving or ([], 0.0, None))[1] else peer.leaving
        for peer, done in over:
            done(frames.Result(frames.NAMED_RET, 0, 0, 0), Message(encode_value({"left": ""})), None)


def main() -> None:
    Router(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
