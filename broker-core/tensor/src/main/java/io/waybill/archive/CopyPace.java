package io.waybill.archive;

import io.waybill.host.Clock;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * Rate limit of the archive: it copies at full speed while it keeps up. When calls send r times the bytes that it could
 * copy, it can't keep everything: then it copies for one in r² of the time, but at least a twentieth, and leaves the
 * processors and the memory to the calls.
 *
 * <p><b>Threads.</b> For the archive's thread.
 */
final class CopyPace {

    private static final double MAX_PAUSES = 19;
    private static final long WINDOW_NS = 100_000_000;
    /**
     * Max time of a piece that was copied without a pause. A longer one did not copy all the time: its thread has a low
     * priority, and did not get a processor.
     */
    private static final long MAX_PIECE_NS = 5_000_000;

    private final Clock clock;
    private final LongSupplier sentBytes;
    private final LongConsumer pause;
    private double pauses; // as a multiple of the time that is spent on copying
    private long windowFromNs;
    private long sentAtFrom;
    private long copiedBytes; // copied in this window
    private long copyingNs;
    private long pieceBytes; // size of the piece that is being copied; 0: none
    private long pieceFromNs;

    /**
     * Creates a rate limit.
     *
     * @param sentBytes size of all storages that could have been kept so far; never decreases
     * @param pause waits for this number of ns, or less
     */
    CopyPace(Clock clock, LongSupplier sentBytes, LongConsumer pause) {
        this.clock = clock;
        this.sentBytes = sentBytes;
        this.pause = pause;
        beginWindow(clock.monotonicNs());
    }

    /** Notes that there is nothing to copy for now. */
    void rest() {
        endPiece(clock.monotonicNs());
    }

    /** Prepares for the next piece: pauses if the calls need the time. */
    void next(long bytes) {
        long nowNs = clock.monotonicNs();
        long tookNs = endPiece(nowNs);
        if (nowNs - windowFromNs >= WINDOW_NS) {
            pauses = pauses(nowNs - windowFromNs);
            beginWindow(nowNs);
        }
        if (pauses > 0) {
            pause.accept((long) (pauses * Math.min(tookNs, MAX_PIECE_NS)));
            nowNs = clock.monotonicNs();
        }
        pieceBytes = bytes;
        pieceFromNs = nowNs;
    }

    private double pauses(long windowNs) {
        if (copiedBytes == 0) {
            return 0;
        }
        double couldCopy = (double) copiedBytes / Math.max(1, copyingNs) * windowNs;
        double times = (sentBytes.getAsLong() - sentAtFrom) / couldCopy;
        return Math.max(0, Math.min(MAX_PAUSES, times * times - 1));
    }

    private long endPiece(long nowNs) {
        if (pieceBytes == 0) {
            return 0;
        }
        long tookNs = nowNs - pieceFromNs;
        copiedBytes += pieceBytes;
        copyingNs += tookNs;
        pieceBytes = 0;
        return tookNs;
    }

    private void beginWindow(long nowNs) {
        windowFromNs = nowNs;
        sentAtFrom = sentBytes.getAsLong();
        copiedBytes = 0;
        copyingNs = 0;
    }
}
