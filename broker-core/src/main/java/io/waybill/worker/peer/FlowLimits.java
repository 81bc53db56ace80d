package io.waybill.worker.peer;

import java.util.Objects;

/**
 * How much may be on its way, so that a sender that outruns a peer is held back and memory stays bounded.
 *
 * @param callsPerPeer most calls to one peer that are not settled yet, or whose requests it has not read yet
 * @param bytesPerPeer most bytes of records in the same sense
 * @param calls most unsettled calls of the worker; rounded up to a power of two
 * @param overflow what happens beyond
 */
public record FlowLimits(int callsPerPeer, long bytesPerPeer, int calls, Overflow overflow) {

    public FlowLimits {
        if (callsPerPeer < 1 || bytesPerPeer < 1 || calls < 1 || calls > 1 << 22) {
            throw new IllegalArgumentException(
                    "flow limits must be 1 or more, and calls at most 4194304: calls per peer " + callsPerPeer
                            + ", bytes per peer " + bytesPerPeer + ", calls " + calls);
        }
        Objects.requireNonNull(overflow);
    }

    public static FlowLimits defaults() {
        return new FlowLimits(16_384, 256L << 20, 65_536, Overflow.WAIT);
    }

    public FlowLimits withOverflow(Overflow other) {
        return new FlowLimits(callsPerPeer, bytesPerPeer, calls, other);
    }

    public FlowLimits withCallsPerPeer(int other) {
        return new FlowLimits(other, bytesPerPeer, calls, overflow);
    }
}
