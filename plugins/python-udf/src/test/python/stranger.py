"""A process of another user: says what comes back when it greets a gateway and calls at once."""

import socket
import struct
import sys

peer = socket.socket(socket.AF_UNIX)
try:
    peer.connect(sys.argv[1])
except PermissionError:
    sys.exit("not allowed")
try:
    for kind in (1, 3):  # HELLO, CALL
        peer.sendall(struct.pack("<IBBHQ", 8, kind, 0, 0, 1) + bytes(8))
except OSError:
    pass  # it was closed before
try:
    print("bytes", len(peer.recv(1000)))
except ConnectionError:
    print("bytes 0")
