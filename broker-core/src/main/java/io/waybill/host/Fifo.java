package io.waybill.host;

import java.io.IOException;
import jnr.ffi.Pointer;

/**
 * One end of a FIFO through which processes wake each other. The bytes in it mean nothing but "look".
 *
 * <p><b>Threads.</b> One thread at a time waits; any may pass. <b>Ownership.</b> Whoever opened it closes it, when nobody uses
 * it any more; closing again does nothing. <b>Memory.</b> Waiting and passing allocate nothing.
 */
public final class Fifo implements AutoCloseable {
    private final NativeCalls calls;
    private final NativeFile file;
    private final int descriptor;
    private final Pointer room;
    private final long roomAddress;

    Fifo(NativeCalls calls, NativeFile file) {
        this.calls = calls;
        this.file = file;
        this.descriptor = file.descriptor();
        this.room = calls.waitingRoom();
        this.roomAddress = room.address();
    }

    /**
     * Waits for bytes and takes them all. Only for the end opened with {@link SafeFiles#openOwnFifo}.
     *
     * @return false when none came in time, or when a signal cut the wait short
     */
    public boolean await(long timeoutNs) {
        file.descriptor(); // throws when closed
        if (!calls.awaitReadable(descriptor, timeoutNs, room, roomAddress)) {
            return false;
        }
        calls.drain(descriptor, roomAddress);
        return true;
    }

    /**
     * Passes one byte, or none when the FIFO is full: then somebody is being woken already.
     *
     * @return false when nobody waits at it any more
     */
    public boolean pass() throws IOException {
        file.descriptor();
        return calls.passByte(descriptor, roomAddress, file.path()) != NativeCalls.Passed.NOBODY_READS;
    }

    @Override
    public void close() {
        file.close();
    }
}
