package io.waybill.host;

import io.waybill.host.DescriptorWaits.WaitingRoom;

/**
 * Watches a process through a descriptor of it, which the kernel makes readable when the process has ended, reaped or not, and
 * which never comes to mean another process. One system call, half a microsecond, no garbage.
 */
final class PidFdWatch implements ProcessWatch {
    private final NativeCalls calls;
    private final int descriptor;
    private final WaitingRoom room = new WaitingRoom();
    private boolean closed;
    private Liveness liveness = Liveness.ALIVE;

    PidFdWatch(NativeCalls calls, int descriptor) {
        this.calls = calls;
        this.descriptor = descriptor;
    }

    @Override
    public synchronized Liveness liveness() {
        if (closed) {
            throw new IllegalStateException("closed");
        }
        if (liveness == Liveness.ALIVE && calls.waits().awaitReadable(descriptor, 0, room)) {
            liveness = Liveness.DEAD;
        }
        return liveness;
    }

    @Override
    public synchronized boolean endsWaitsOf(ChangeWatch changes) {
        return liveness == Liveness.ALIVE && !closed && changes.join(descriptor);
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            calls.close(descriptor);
        }
    }
}
