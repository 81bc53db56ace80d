package io.waybill.worker.peer;

import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.cursor.PeerCursors;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Account of the calls and bytes in flight to one peer: sent, and not completed or not read by the peer.
 *
 * <p><b>Threads.</b> {@link #hasRoom}, {@link #sent} and {@link #notWritten} under the lock of the requests' appender;
 * the rest by any thread.
 */
public final class FlowAccount {

    private static final VarHandle COMPLETED_CALLS;
    private static final VarHandle COMPLETED_BYTES;
    private static final VarHandle SENT_CALLS;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            COMPLETED_CALLS = lookup.findVarHandle(FlowAccount.class, "completedCalls", long.class);
            COMPLETED_BYTES = lookup.findVarHandle(FlowAccount.class, "completedBytes", long.class);
            SENT_CALLS = lookup.findVarHandle(FlowAccount.class, "sentCalls", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final PeerCursors peerCursors;
    private final int ownId;
    // Guarded by the lock of the requests' appender.
    private volatile long sentCalls; // read by the permit's holder
    private long sentBytes;
    private volatile long unwrittenCalls; // counted as sent, and never appended: the peer can't read them
    private PeerCursorSlot readByPeer; // null until the peer has read something
    private final long readCallsBefore;
    private long readCallsSeen;

    private volatile long completedCalls;
    private volatile long completedBytes;

    FlowAccount(PeerCursors peerCursors, int ownId) {
        this.peerCursors = peerCursors;
        this.ownId = ownId;
        this.readByPeer = readSlot();
        this.readCallsBefore = readByPeer == null ? 0 : readByPeer.requestsConsumed();
    }

    /** Returns the peer's cursor slot for this worker; null while the peer has read nothing. */
    PeerCursorSlot readSlot() {
        return peerCursors.slotFor(ownId).orElse(null);
    }

    /** Returns whether a request of this size is within the limits. */
    public boolean hasRoom(int bytes, FlowLimits limits) {
        long calls = sentCalls - completedCalls;
        long waiting = sentBytes - completedBytes;
        if (calls >= limits.callsPerPeer() || waiting > 0 && waiting + bytes > limits.bytesPerPeer()) {
            return false;
        }
        // The request of a call that timed out may still be unread. The peer writes its cursor line at every message,
        // so the line is read only when it may decide.
        long written = writtenCalls();
        if (written - readCallsSeen >= limits.callsPerPeer()) {
            readCallsSeen = readCalls();
        }
        long unread = written - readCallsSeen;
        return unread < limits.callsPerPeer() || unread <= calls;
    }

    private long readCalls() {
        PeerCursorSlot slot = readByPeer;
        if (slot == null) {
            slot = readSlot();
            if (slot == null) {
                return 0;
            }
            readByPeer = slot; // created after this account, and therefore counted from 0
        }
        long read = slot.requestsConsumed() - readCallsBefore;
        return Math.max(0, Math.min(read, writtenCalls())); // claimed by the peer
    }

    /** Counts a request of this size that was, or is about to be, appended. */
    public void sent(int bytes) {
        SENT_CALLS.setRelease(this, sentCalls + 1);
        sentBytes += bytes;
    }

    /** Counts a request as not appended after all. Its call is completed, too. Under the lock, as {@link #sent}. */
    public void notWritten() {
        unwrittenCalls++;
    }

    /** Counts a call as completed whose request had this size. */
    public void completed(int bytes) {
        COMPLETED_CALLS.getAndAdd(this, 1L);
        COMPLETED_BYTES.getAndAdd(this, (long) bytes);
    }

    /** Returns the number of requests that the peer has read or will read, without a request that is being appended. */
    long writtenCalls() {
        long unwritten = unwrittenCalls; // first: better one too many than one too few
        return sentCalls - unwritten;
    }

    /** Returns whether a call is in flight, and so a response may arrive. */
    public boolean expectsResponses() {
        return sentCalls != completedCalls;
    }

    /** Returns the requests that the peer has not read, as far as this thread can see. */
    public long unread() {
        PeerCursorSlot slot = readSlot();
        long read = slot == null ? 0 : slot.requestsConsumed() - readCallsBefore;
        return Math.max(0, writtenCalls() - Math.max(0, read));
    }

    /** Returns the calls without an outcome, as far as this thread can see. */
    public long inFlight() {
        return Math.max(0, sentCalls - completedCalls);
    }
}
