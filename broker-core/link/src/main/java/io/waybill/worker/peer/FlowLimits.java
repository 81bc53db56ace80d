package io.waybill.worker.peer;

import java.util.Objects;

/**
 * Limits of calls and bytes in flight: they throttle a sender that outruns a peer, and bound memory.
 *
 * @param callsPerPeer max calls to one peer that are not completed, or whose requests the peer has not read
 * @param bytesPerPeer max bytes of the records of these calls
 * @param calls max calls of the worker that are not completed; rounded up to a power of two
 * @param overflow policy for a call beyond a limit
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
