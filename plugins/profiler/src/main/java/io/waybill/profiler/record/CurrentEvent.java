package io.waybill.profiler.record;

import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextLimitException;
import io.waybill.api.context.ContextScope;
import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.profile.ProfileEvent;
import java.nio.ByteBuffer;

/**
 * The event that a thread is inside of: a value in its {@link CallContext}, which goes with its calls, and with the messages that it dispatches.
 *
 * @param event index in the recording; {@link ProfileEvent#NO_PARENT} when it is in none yet
 */
public record CurrentEvent(ProfilingId recording, int event) {

    /** The name of the value: the id of the recording, 8 and 4 bytes, and the index, 4 bytes, all big-endian. */
    static final String NAME = "waybill-profiler";

    private static final int LENGTH = Long.BYTES + 2 * Integer.BYTES;

    /** Returns that of the calling thread; null when it is in none. */
    static CurrentEvent find() {
        CallContext current = CallContext.current();
        ByteBuffer bytes = current.isEmpty() ? null : current.bytes(NAME).orElse(null);
        return bytes == null || bytes.remaining() != LENGTH
                ? null
                : new CurrentEvent(new ProfilingId(bytes.getLong(), bytes.getInt()), bytes.getInt());
    }

    /** Returns that with these numbers; null for none. */
    static CurrentEvent of(long[] numbers) {
        return numbers == null
                ? null
                : new CurrentEvent(new ProfilingId(numbers[0], (int) numbers[1]), (int) numbers[2]);
    }

    /** Returns it as numbers. */
    long[] numbers() {
        return new long[] {recording.base(), recording.number(), event};
    }

    /**
     * Makes it that of the calling thread.
     *
     * @return null when the thread's context has no room: then it stays in the event around this one
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

    /** Returns a context without the event that it is in. */
    public static CallContext without(CallContext context) {
        return context.without(NAME);
    }

    /** Leaves it. Has no effect on a thread that did not enter it. */
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
