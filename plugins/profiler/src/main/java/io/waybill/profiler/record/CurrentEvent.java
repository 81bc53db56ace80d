package io.waybill.profiler.record;

import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextLimitException;
import io.waybill.api.context.ContextScope;
import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.profile.ProfileEvent;
import java.nio.ByteBuffer;

/**
 * Current event of a thread: a value in its {@link CallContext}, which its calls and dispatched messages carry.
 *
 * @param event index in the recording; {@link ProfileEvent#NO_PARENT} if there is none yet
 */
public record CurrentEvent(ProfilingId recording, int event) {

    /** Name of the value: the id of the recording, 8 and 4 bytes, and the index, 4 bytes, all big-endian. */
    static final String NAME = "waybill-profiler";

    private static final int LENGTH = Long.BYTES + 2 * Integer.BYTES;

    /** Returns the current event of the calling thread; null if there is none. */
    static CurrentEvent find() {
        CallContext current = CallContext.current();
        ByteBuffer bytes = current.isEmpty() ? null : current.bytes(NAME).orElse(null);
        return bytes == null || bytes.remaining() != LENGTH
                ? null
                : new CurrentEvent(new ProfilingId(bytes.getLong(), bytes.getInt()), bytes.getInt());
    }

    /** Creates the event with these numbers; null for none. */
    static CurrentEvent of(long[] numbers) {
        return numbers == null
                ? null
                : new CurrentEvent(new ProfilingId(numbers[0], (int) numbers[1]), (int) numbers[2]);
    }

    /** Returns the event as numbers. */
    long[] numbers() {
        return new long[] {recording.base(), recording.number(), event};
    }

    /**
     * Makes this event the current one of the calling thread.
     *
     * @return a scope; null if the thread's context has no room, so that the outer event stays current
     */
    public ContextScope enter() {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH)
                .putLong(recording.base())
                .putInt(recording.number())
                .putInt(event);
        try {
            return CallContext.current().with(NAME, bytes.array()).makeCurrent();
        } catch (ContextLimitException e) {
            return null;
        }
    }

    /** Returns a context without its current event. */
    public static CallContext without(CallContext context) {
        return context.without(NAME);
    }

    /** Leaves the event. Has no effect on a thread that did not enter it. */
    public static void leave(ContextScope entered) {
        try {
            if (entered != null) {
                entered.close();
            }
        } catch (IllegalStateException e) {
            // of another thread, which has left it with its handler; or an inner scope was left open, and ended with it
        }
    }
}
