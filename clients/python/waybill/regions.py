"""Memory that a process shares with its gateway for large tensors: two memfds, of which the process writes one."""

import ctypes
import mmap
import os
import threading
import weakref
from bisect import insort
from typing import Callable, Dict, List, Optional, Tuple

from waybill.errors import ProtocolError

_ALIGNMENT = 64
_GROWTH = 1 << 20
# of a copy for which the interpreter's lock is held
_CHUNK = 1 << 23


class OutRegion:
    """The file that this process writes: storages of its requests and results, until the gateway releases them."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("waybill-out", os.MFD_CLOEXEC)
        self._lock = threading.Lock()
        self._length = 0
        # up to where the file has been written
        self._written = 0
        self._map: Optional[mmap.mmap] = None
        self._free: List[Tuple[int, int]] = []
        self._taken: Dict[int, int] = {}

    def write(self, content: memoryview) -> int:
        """Copies a storage into the file and returns its position."""
        size = len(content)
        position = self._allocate(size)
        mapped = self._mapped(position + size)
        if mapped is None:
            done = 0
            while done < size:
                done += os.pwrite(self.fd, content[done:], position + done)
            with self._lock:
                self._written = max(self._written, position + size)
        elif content.readonly:
            for start in range(0, size, _CHUNK):
                part = content[start : start + _CHUNK]
                mapped[position + start : position + start + len(part)] = part
        else:
            to = ctypes.c_ubyte.from_buffer(mapped, position)
            # without the interpreter's lock
            ctypes.memmove(ctypes.addressof(to), ctypes.addressof(ctypes.c_ubyte.from_buffer(content)), size)
        return position

    def _mapped(self, end: int) -> Optional[mmap.mmap]:
        """The file in memory, into which a copy takes half of the time of a write; None where it is to be written."""
        with self._lock:
            if end > self._written:
                return None
            if self._map is None or len(self._map) < end:
                try:
                    self._map = mmap.mmap(self.fd, self._length)
                except OSError:
                    # no room for it among the process's addresses: it is written as before
                    return None
            return self._map

    def _allocate(self, size: int) -> int:
        room = (size + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
        with self._lock:
            for index, (start, length) in enumerate(self._free):
                if length >= room:
                    if length == room:
                        del self._free[index]
                    else:
                        self._free[index] = (start + room, length - room)
                    self._taken[start] = room
                    return start
            start = self._length
            if self._free and sum(self._free[-1]) == start:
                start = self._free.pop()[0]
            self._length = max(start + room, start + _GROWTH)
            os.ftruncate(self.fd, self._length)
            if self._length > start + room:
                self._free.append((start + room, self._length - start - room))
            self._taken[start] = room
            return start

    def release(self, position: int) -> None:
        """Takes back a storage; raises :class:`ProtocolError` if none is at this position."""
        with self._lock:
            room = self._taken.pop(position, None)
            if room is None:
                raise ProtocolError("RELEASE: expected the position of a storage, found %d" % position)
            insort(self._free, (position, room))
            merged: List[Tuple[int, int]] = []
            for start, length in self._free:
                if merged and sum(merged[-1]) == start:
                    merged[-1] = (merged[-1][0], merged[-1][1] + length)
                else:
                    merged.append((start, length))
            self._free = merged

    def in_use(self) -> int:
        """Number of storages that the gateway has not released."""
        with self._lock:
            return len(self._taken)

    def close(self) -> None:
        """Closes the file."""
        self._map = None
        os.close(self.fd)


class InRegion:
    """The file that the gateway writes: storages of requests and results that this process receives, as views."""

    def __init__(self, release: Callable[[int], None]) -> None:
        self.fd = os.memfd_create("waybill-in", os.MFD_CLOEXEC)
        self._release = release
        self._lock = threading.Lock()
        self._map: Optional[mmap.mmap] = None

    def view(self, position: int, size: int) -> memoryview:
        """The bytes of a storage, which is released when the last object over them is gone."""
        if size == 0:
            self._release(position)
            return memoryview(b"")
        content = (ctypes.c_ubyte * size).from_buffer(self._mapped(position + size), position)
        weakref.finalize(content, self._release, position).atexit = False
        return memoryview(content).cast("B")

    def _mapped(self, end: int) -> mmap.mmap:
        with self._lock:
            if self._map is None or len(self._map) < end:
                length = os.fstat(self.fd).st_size
                if length < end:
                    raise ProtocolError("region: expected a file of at least %d bytes, found %d" % (end, length))
                self._map = mmap.mmap(self.fd, length)
            return self._map

    def close(self) -> None:
        """Closes the file. Views stay valid."""
        self._map = None
        os.close(self.fd)
