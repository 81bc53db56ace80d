"""Parts of segments in the home, which this process maps: it reads what arrived, and writes what it sends, in place.

A received part is mapped copy-on-write, and locked for reading as long as it is used: its sender asks for the lock
before it writes there again when the gateway has ended. What is kept for longer is copied, and released.
"""

import ctypes
import fcntl
import os
import struct
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from waybill.errors import ProtocolError, WorkerLost

# how long a received part stays in its sender's memory, and a mapping for writing stays without use
_KEPT_SECONDS = 1.0
_TICK_SECONDS = 0.5
# a gateway that asks for the lock holds it for an instant
_LOCK_ATTEMPTS = 100
_LOCK_SECONDS = 0.001
_PAGE = os.sysconf("SC_PAGE_SIZE")

_PROT_READ, _PROT_WRITE, _MAP_SHARED, _MAP_PRIVATE = 1, 2, 1, 2
_MAP_ANONYMOUS = 0x20
_POPULATE_READ, _POPULATE_WRITE = 22, 23
_OFD_SETLK = 37
_LOCK = struct.Struct("hhqqi4x")
_PLACE = struct.Struct("<Q")
# of a copy for which the interpreter's lock is held
_CHUNK = 1 << 23


class _System(NamedTuple):
    """Addition to the standard library's mmap, which keeps a descriptor for each mapping and can't fill one."""

    mmap: Any
    munmap: Any
    madvise: Any


def _load() -> _System:
    libc = ctypes.CDLL(None, use_errno=True)
    size, address = ctypes.c_size_t, ctypes.c_void_p
    libc.mmap.restype = address
    libc.mmap.argtypes = (address, size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
    libc.munmap.argtypes = (address, size)
    libc.madvise.argtypes = (address, size, ctypes.c_int)
    return _System(libc.mmap, libc.munmap, libc.madvise)


_system = _load()
_open: "weakref.WeakSet[Parts]" = weakref.WeakSet()


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


def _map(fd: int, position: int, size: int, protection: int, flags: int) -> int:
    address: Optional[int] = _system.mmap(None, size, protection, flags, fd, position)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise _error()
    return address


def _lock(fd: int, kind: int, position: int, size: int) -> None:
    fcntl.fcntl(fd, _OFD_SETLK, _LOCK.pack(kind, os.SEEK_SET, position, size, 0))


def are_possible() -> bool:
    """Returns whether the system supports parts: locks of open files, and a way to copy a mapping as it is."""
    try:
        fd = os.memfd_create("waybill-probe", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        return False
    try:
        os.ftruncate(fd, _PAGE)
        _lock(fd, fcntl.F_RDLCK, 0, _PAGE)
        address = _map(fd, 0, _PAGE, _PROT_READ | _PROT_WRITE, _MAP_PRIVATE)
        possible: bool = _system.madvise(address, _PAGE, _POPULATE_WRITE) == 0
        _system.munmap(address, _PAGE)
        return possible
    except OSError:
        return False
    finally:
        os.close(fd)


class Place(NamedTuple):
    """Location of a part: the number with which it is released, and its bytes in a file."""

    number: int
    path: str
    position: int
    size: int


def place_of(number: int, size: int, content: memoryview) -> Place:
    """Reads where a part is, as a frame says it."""
    if len(content) < _PLACE.size:
        raise ProtocolError("part: expected the position and the path of its file, found %d bytes" % len(content))
    (position,) = _PLACE.unpack_from(content)
    path = os.fsdecode(bytes(content[_PLACE.size :]))
    if size == 0 or position % _PAGE:
        raise ProtocolError("part: expected whole pages, found %d bytes at %d of %s" % (size, position, path))
    return Place(number, path, position, size)


def _require_length(place: Place, length: int) -> None:
    if place.position + place.size > length:
        raise ProtocolError(
            "part: expected a file of at least %d bytes, found %d: %s"
            % (place.position + place.size, length, place.path)
        )


class _Received:
    """A received part while an object over it lives, or it is not copied. Any thread may end it, or copy it."""

    __slots__ = ("place", "since", "_fd", "_address", "_pid", "_told", "_gone", "_lock")

    def __init__(self, place: Place, fd: int, address: int) -> None:
        self.place = place
        self.since = time.monotonic()
        self._fd = fd
        self._address = address
        self._pid = os.getpid()
        self._told = False
        self._gone = False
        self._lock = threading.Lock()

    def copy(self, tell: Callable[[int], None]) -> None:
        """Makes all pages this process's own, and releases the part; leaves it as it is when there is no memory."""
        with self._lock:
            if not (self._told or self._gone):
                if _system.madvise(self._address, self.place.size, _POPULATE_WRITE) == 0:
                    self._release(tell)
        self._end_if_gone(tell)

    def gone(self, tell: Callable[[int], None]) -> None:
        """No object is over it any more. Garbage collection calls this at any point, also inside of :meth:`copy`."""
        self._gone = True
        self._end_if_gone(tell)

    def _end_if_gone(self, tell: Callable[[int], None]) -> None:
        if self._gone and self._lock.acquire(False):
            try:
                if self._address:
                    _system.munmap(self._address, self.place.size)
                    self._address = 0
                    if not self._told:
                        self._release(tell)
            finally:
                self._lock.release()

    def _release(self, tell: Callable[[int], None]) -> None:
        if self._pid == os.getpid():
            # before the sender knows; the mapping would keep the lock of a file that is closed
            _lock(self._fd, fcntl.F_UNLCK, self.place.position, self.place.size)
        os.close(self._fd)
        self._told = True
        tell(self.place.number)


class _Written:
    """A mapping of a file for writing."""

    __slots__ = ("address", "length", "users", "used")

    def __init__(self, address: int, length: int) -> None:
        self.address = address
        self.length = length
        self.users = 0
        self.used = 0.0


class Parts:
    """The parts that this process uses. Any thread may call."""

    def __init__(self, release: Callable[[int], None], is_connected: Callable[[], bool]) -> None:
        self._release = release
        self._is_connected = is_connected
        self._lock = threading.Lock()
        self._received: Dict[int, _Received] = {}
        self._written: Dict[str, _Written] = {}
        # by the address of their first byte
        self._buffers: Dict[int, Place] = {}
        self._watched = False
        _open.add(self)

    # Received parts

    def view(self, place: Place) -> memoryview:
        """The bytes of a part, which are this process's own to write, until the last object over them is gone."""
        try:
            fd = os.open(place.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as e:
            self._release(place.number)
            raise ProtocolError("part: expected a file of the home, found %s" % e) from e
        try:
            received = self._map_received(place, fd)
        except BaseException as e:
            try:
                if isinstance(e, OSError) and not isinstance(e, WorkerLost):
                    # no memory for a mapping, or a file system without locks
                    return self._read(place, fd)
                raise
            finally:
                os.close(fd)
                self._release(place.number)
        content = (ctypes.c_ubyte * place.size).from_address(received._address)
        self._received[place.number] = received
        weakref.finalize(content, self._gone, received).atexit = False
        self._watch()
        return memoryview(content).cast("B")

    def _map_received(self, place: Place, fd: int) -> _Received:
        _require_length(place, os.fstat(fd).st_size)
        self._lock_for_reading(place, fd)
        self._require_connected()
        address = _map(fd, place.position, place.size, _PROT_READ | _PROT_WRITE, _MAP_PRIVATE)
        # all pages at once take less time than one after the other; where it fails, they come so
        _system.madvise(address, place.size, _POPULATE_READ)
        return _Received(place, fd, address)

    def _read(self, place: Place, fd: int) -> memoryview:
        content = memoryview(bytearray(place.size))
        done = 0
        while done < place.size:
            read = os.preadv(fd, [content[done : done + _CHUNK]], place.position + done)
            if read == 0:
                raise ProtocolError("part: expected %d bytes, found %d: %s" % (place.size, done, place.path))
            done += read
        self._require_connected()
        return content

    def _require_connected(self) -> None:
        """Raises when the sender may have seen the end of the gateway, and used its memory again."""
        if not self._is_connected():
            raise WorkerLost("the gateway ended before its response was read", "WORKER_LOST")

    @staticmethod
    def _lock_for_reading(place: Place, fd: int) -> None:
        for attempt in range(_LOCK_ATTEMPTS):
            try:
                _lock(fd, fcntl.F_RDLCK, place.position, place.size)
                return
            except BlockingIOError:
                if attempt == _LOCK_ATTEMPTS - 1:
                    raise
                time.sleep(_LOCK_SECONDS)

    def _gone(self, received: _Received) -> None:
        self._received.pop(received.place.number, None)
        received.gone(self._release)

    def copy_all(self) -> None:
        """Makes all received parts this process's own: their senders may write to them from now on."""
        self._copy(list(self._received.values()))

    def _copy(self, each: Iterable[_Received]) -> None:
        for received in each:
            received.copy(self._release)
            if received._told:
                self._received.pop(received.place.number, None)

    def in_use(self) -> int:
        """Number of received parts that are neither released nor copied."""
        return len(self._received)

    # Parts to send

    def write(self, place: Place, content: memoryview) -> bool:
        """Copies a storage into a part that was allocated for it; false if its file can't be mapped."""
        try:
            written = self._mapped(place)
        except OSError:
            return False
        try:
            _copy_to(written.address + place.position, content)
        finally:
            with self._lock:
                written.users -= 1
                written.used = time.monotonic()
        self._watch()
        return True

    def _mapped(self, place: Place) -> _Written:
        with self._lock:
            written = self._written.get(place.path)
            if written is None:
                fd = os.open(place.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                try:
                    length = os.fstat(fd).st_size
                    written = _Written(_map(fd, 0, length, _PROT_READ | _PROT_WRITE, _MAP_SHARED), length)
                finally:
                    os.close(fd)
                self._written[place.path] = written
            _require_length(place, written.length)
            written.users += 1
            return written

    # Buffers that are sent as they are

    def buffer(self, place: Place) -> memoryview:
        """The bytes of a part that was allocated: this process writes there, and sends them without a copy."""
        try:
            address = self._map_buffer(place)
        except BaseException as e:
            self._release(place.number)
            if not isinstance(e, OSError):
                raise
            # no room for it among the process's addresses: it is copied when it is sent
            return memoryview(bytearray(place.size))
        content = (ctypes.c_ubyte * place.size).from_address(address)
        self._buffers[address] = place
        weakref.finalize(content, self._buffer_gone, address, place).atexit = False
        view = memoryview(content).cast("B")
        # what was sent from there before
        ctypes.memset(address, 0, place.size)
        return view

    @staticmethod
    def _map_buffer(place: Place) -> int:
        fd = os.open(place.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            _require_length(place, os.fstat(fd).st_size)
            return _map(fd, place.position, place.size, _PROT_READ | _PROT_WRITE, _MAP_SHARED)
        finally:
            os.close(fd)

    def buffer_of(self, storage: memoryview) -> Optional[int]:
        """The number of the buffer whose bytes, no less and no more, a storage has; None if there is none."""
        if not self._buffers or storage.readonly:
            return None
        place = self._buffers.get(ctypes.addressof(ctypes.c_ubyte.from_buffer(storage)))
        return place.number if place is not None and place.size == len(storage) else None

    def _buffer_gone(self, address: int, place: Place) -> None:
        self._buffers.pop(address, None)
        _system.munmap(address, place.size)
        self._release(place.number)

    # What is not used for some time

    def _watch(self) -> None:
        with self._lock:
            if self._watched:
                return
            self._watched = True
        try:
            threading.Thread(target=self._look, name="waybill-parts", daemon=True).start()
        except RuntimeError:
            # no thread is to be had: the next use tries again
            self._watched = False

    def _look(self) -> None:
        while True:
            time.sleep(_TICK_SECONDS)
            before = time.monotonic() - _KEPT_SECONDS
            self._copy([each for each in list(self._received.values()) if each.since < before])
            with self._lock:
                for path, written in list(self._written.items()):
                    if not written.users and written.used < before:
                        del self._written[path]
                        _system.munmap(written.address, written.length)
                if not (self._received or self._written):
                    self._watched = False
                    return

    def close(self) -> None:
        """The connection has ended. What objects are over stays as it is."""
        self.copy_all()
        self._buffers.clear()
        with self._lock:
            for path, written in list(self._written.items()):
                if not written.users:
                    del self._written[path]
                    _system.munmap(written.address, written.length)


def _copy_to(address: int, content: memoryview) -> None:
    size = len(content)
    if content.readonly:
        to = memoryview((ctypes.c_ubyte * size).from_address(address)).cast("B")
        for start in range(0, size, _CHUNK):
            part = content[start : start + _CHUNK]
            to[start : start + len(part)] = part
        return
    # without the interpreter's lock
    ctypes.memmove(address, ctypes.addressof(ctypes.c_ubyte.from_buffer(content)), size)


def _before_fork() -> None:
    # the child has no lock of its own, and this process releases what the child still uses
    for parts in list(_open):
        parts.copy_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
