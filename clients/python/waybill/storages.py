"""Locations of the storages of a connection's messages: the frame, a region file, or a part of a segment."""

import os
from typing import Any, Callable, Dict, Optional, Sequence

from waybill import frames, parts
from waybill.errors import ProtocolError
from waybill.parts import Parts, Place
from waybill.regions import InRegion, OutRegion

# bytes of a message; beyond that small storages are placed as large ones are
_MAX_INLINED = 1 << 20


class Storages:
    """The memory that a process shares with its gateway. Any thread may call."""

    def __init__(self, tell: Callable[[int, int], None], is_connected: Callable[[], bool]) -> None:
        """Creates the files.

        :param tell: sends a number in a frame of a kind, at any point
        :param is_connected: whether this worker is in the home
        """
        self._tell = tell
        self._out: Optional[OutRegion] = None
        self._in: Optional[InRegion] = None
        if hasattr(os, "memfd_create"):
            self._out = OutRegion()
            self._in = InRegion(self._release_region)
        self.parts = Parts(self._unmap, is_connected)
        self._inline_max = 0
        self._part_min: Optional[int] = None
        self._has_regions = False

    def greeting(self) -> Dict[str, Any]:
        """What ``HELLO`` says of it."""
        if self._out is None or self._in is None:
            return {}
        fields: Dict[str, Any] = {"parts": parts.are_possible()}
        for name, region in (("out", self._out), ("in", self._in)):
            fields[name] = region.fd
            # by which the gateway knows the file: in another pid namespace the pid is that of another process
            fields[name + "_inode"] = os.fstat(region.fd).st_ino
        return fields

    def welcomed(self, welcome: Dict[str, Any]) -> None:
        """Takes what the gateway can use of it."""
        self._inline_max = int(welcome["inline_max"])
        self._has_regions = bool(welcome["regions"])
        self._part_min = int(welcome["part_min"]) if welcome.get("parts") else None

    # Sent storages

    def place(
        self, storage: memoryview, allocate: Callable[[int], Optional[Place]], inlined: int = 0
    ) -> frames.Where:
        """Writes a storage that is to be sent, and returns where it is.

        :param allocate: asks the gateway for a part of so many bytes; None if it gives none
        :param inlined: bytes of the message that are inlined already
        """
        size = len(storage)
        is_small = size <= self._inline_max and inlined + size <= _MAX_INLINED
        if is_small or self._out is None or not self._has_regions:
            return frames.INLINED
        kept = self.parts.buffer_of(storage)
        if kept is not None:
            return frames.in_kept_part(kept)
        part = allocate(size) if self._part_min is not None and size >= self._part_min else None
        if part is not None and self._write(part, storage):
            return frames.in_part(part.number)
        return frames.in_region(self._out.write(storage))

    def buffer(self, size: int, allocate: Callable[[int], Optional[Place]]) -> memoryview:
        """Memory from which a storage is sent without a copy, where there is such memory.

        :param allocate: asks the gateway for a part of so many bytes; None if it gives none
        """
        part = allocate(size) if self._part_min is not None and size >= self._part_min else None
        return memoryview(bytearray(size)) if part is None else self.parts.buffer(part)

    def _write(self, part: Place, storage: memoryview) -> bool:
        """Writes a storage into a part; false if it can't be mapped."""
        written = False
        try:
            written = self.parts.write(part, storage)
        finally:
            if not written:
                self._unmap(part.number)
        return written

    def withdraw(self, places: Sequence[frames.Where]) -> None:
        """Takes back the storages of a message that is not sent."""
        for where in places:
            if where == frames.in_part(where[1]):
                self._unmap(where[1])
            elif where == frames.in_region(where[1]) and self._out is not None:
                self._out.release(where[1])

    def released(self, positions: Sequence[int]) -> None:
        """The gateway has read these regions."""
        if self._out is None:
            raise ProtocolError("RELEASE: expected none without regions, found %d" % len(positions))
        for position in positions:
            self._out.release(position)

    # Received storages

    def region(self, position: int, size: int) -> memoryview:
        """The bytes of a storage in the region file."""
        if self._in is None or not self._has_regions:
            raise ProtocolError("storage: expected an inlined one, found a position in a region")
        return self._in.view(position, size)

    def part(self, number: int, size: int, place: memoryview) -> memoryview:
        """The bytes of a storage in a part."""
        return self.parts.view(parts.place_of(number, size, place))

    def _release_region(self, position: int) -> None:
        self._tell(frames.RELEASE, position)

    def _unmap(self, number: int) -> None:
        self._tell(frames.UNMAP, number)

    def abandon(self) -> None:
        """In a forked process: closes its copies of the files, without a lock. Views stay valid."""
        for region in (self._out, self._in):
            if region is not None:
                region.close()

    def close(self) -> None:
        """Closes the files. Views stay valid."""
        self.parts.close()
        for region in (self._out, self._in):
            if region is not None:
                region.close()
