"""A pool process with nothing but the protocol: it does what the field `what` says."""

import mmap
import os
import socket
import struct
import sys
import time


def encode(value):
    if value is None:
        return b"\0"
    if isinstance(value, int):
        return struct.pack("<Bq", 3, value)
    if isinstance(value, str):
        return struct.pack("<BI", 6, len(value)) + value.encode()
    if isinstance(value, dict):
        return struct.pack("<BI", 11, len(value)) + b"".join(encode(k) + encode(v) for k, v in value.items())
    raise TypeError(value)


def decode(data, at):
    tag = data[at]
    if tag <= 2:
        return (None, False, True)[tag], at + 1
    if tag == 3:
        return struct.unpack_from("<q", data, at + 1)[0], at + 9
    if tag in (6, 8):
        n = struct.unpack_from("<I", data, at + 1)[0]
        return (n, at + 5) if tag == 8 else (data[at + 5 : at + 5 + n].decode(), at + 5 + n)
    n = struct.unpack_from("<I", data, at + 1)[0]
    at += 5
    items = []
    for _ in range(n * (2 if tag == 11 else 1)):
        item, at = decode(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2])) if tag == 11 else items), at


def receive(length):
    data = b""
    while len(data) < length:
        part = peer.recv(length - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def read():
    length, kind, _, _, exchange = struct.unpack("<IBBHQ", receive(16))
    return kind, exchange, receive(length)


def send(kind, exchange, body):
    peer.sendall(struct.pack("<IBBHQ", len(body), kind, 0, 0, exchange) + body)


def message(payload, size=0, position=0):
    if not size:
        return struct.pack("<IHHHH", len(payload), 0, 0, 0, 0) + payload
    storage = struct.pack("<QQB7x", size, position, 1)
    tensor = struct.pack("<HBBB3xqqq", 0, 0, 0, 1, 0, size, 1)
    return struct.pack("<IHHHH", len(payload), 1, 1, 0, 0) + storage + tensor + payload


def serve(exchange, body):
    _, _, _, to, _, _ = struct.unpack_from("<HHHHQq", body)
    payload_length, storages, tensors, _, _ = struct.unpack_from("<IHHHH", body, 24 + to)
    at = 24 + to + 12 + 24 * storages
    for _ in range(tensors):
        at += 16 + 16 * body[at + 4]
    payload = body[at : at + payload_length]
    name_length = struct.unpack_from("<H", payload)[0]
    count = struct.unpack_from("<I", payload, 2 + name_length + 4)[0]
    fields, at = {}, 2 + name_length + 8
    for _ in range(count):
        key, at = decode(payload, at)
        fields[key], at = decode(payload, at)
    text = fields["text"]
    what = fields["what"]
    result = message(encode(text))
    if what == "exit":
        print("a line before the last one\n" * 2000 + "ends now", flush=True)
        os._exit(int(text))
    elif what == "print":
        print(text, flush=True)
    elif what == "path":
        result = message(encode("\n".join(sys.path)))
    elif what == "kill":
        os.kill(os.getpid(), int(text))
    elif what == "hang":
        time.sleep(1000)
    elif what == "sleep":
        time.sleep(float(text))
    elif what == "nested":
        call = struct.pack("<H", 11) + b"test.parent" + struct.pack("<II", 0, 0)
        send(3, 1, struct.pack("<HHHHQq", 0x140, 0, 0, len(text), exchange, 0) + text.encode() + message(call))
        kind, _, body = read()
        assert kind == 4, body
        result = message(body[16 + 12 :])
    elif what == "large":
        size = int(text)
        os.ftruncate(out, size)
        os.pwrite(out, bytes(i % 251 for i in range(size)), 0)
        result = message(b"\x08\0\0\0\0", size)
    elif what == "twice":
        os.ftruncate(out, 100)
        storage = struct.pack("<QQB7x", 60, 0, 1)
        result = struct.pack("<IHHHH", 0, 2, 0, 0, 0) + storage + storage
    elif what == "lie":
        result = message(b"\x08\0\0\0\0", 1 << 30)
    elif what == "sum":
        size, position, place = struct.unpack_from("<QQB", body, 24 + to + 12)
        assert place == 1, place
        with mmap.mmap(into, position + size) as region:
            result = message(encode(sum(region[position : position + size])))
        send(7, 0, struct.pack("<Q", position))
    send(4, exchange, struct.pack("<HHHHQ", 0x203, 0, 0, 0, 0) + result)


out = os.memfd_create("out")
into = os.memfd_create("in")
peer = socket.socket(socket.AF_UNIX)
peer.connect(os.environ["WAYBILL_PYTHON_SOCKET"])
token = os.environ["WAYBILL_PYTHON_TOKEN"]
hello = {"protocol": 1, "role": "pool", "token": token, "pid": os.getpid(), "out": out, "in": into}
hello.update(out_inode=os.fstat(out).st_ino, in_inode=os.fstat(into).st_ino)
send(1, 0, encode(hello))
kind, _, body = read()
if kind != 2:
    sys.exit(body[12:].decode())
while True:
    kind, exchange, body = read()
    if kind == 3:
        serve(exchange, body)
