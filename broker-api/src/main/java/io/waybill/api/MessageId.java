package io.waybill.api;

/**
 * Id of a message: the sender's worker id in the high 16 bits, the sender's counter in the low 48. A response has the
 * id of its request.
 *
 * <p>Text form: {@code worker.counter}, such as {@code 3.1041}. On the path of a call an id is a plain {@code long};
 * this type is its readable form.
 *
 * @param value the 64 bits
 */
public record MessageId(long value) {

    /** Maximum counter: 48 bits. */
    public static final long MAX_COUNTER = (1L << 48) - 1;
    /** Value of a parent id when there is no parent. */
    public static final long NONE = -1L;

    /**
     * Composes the id with this worker id and counter.
     *
     * @throws IllegalArgumentException when one is out of bounds
     */
    public static long of(int workerId, long counter) {
        if (workerId < 0 || workerId > WorkerInfo.MAX_ID) {
            throw new IllegalArgumentException("worker id must be 0.." + WorkerInfo.MAX_ID + ": " + workerId);
        }
        if (counter < 0 || counter > MAX_COUNTER) {
            throw new IllegalArgumentException("message counter must be 0.." + MAX_COUNTER + ": " + counter);
        }
        return ((long) workerId << 48) | counter;
    }

    /** Parses {@code worker.counter}, or the 64 bits as a decimal or {@code 0x} number. */
    public static MessageId parse(String text) {
        try {
            int dot = text.indexOf('.');
            if (dot >= 0) {
                return new MessageId(
                        of(Integer.parseInt(text.substring(0, dot)), Long.parseLong(text.substring(dot + 1))));
            }
            return new MessageId(
                    text.startsWith("0x") ? Long.parseUnsignedLong(text.substring(2), 16) : Long.parseLong(text));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("a message id is written worker.counter, such as 3.1041: " + text, e);
        }
    }

    public static int worker(long id) {
        return (int) (id >>> 48);
    }

    public static long counter(long id) {
        return id & MAX_COUNTER;
    }

    /** Formats an id as {@code worker.counter}. */
    public static String text(long id) {
        return worker(id) + "." + counter(id);
    }

    public int worker() {
        return worker(value);
    }

    public long counter() {
        return counter(value);
    }

    @Override
    public String toString() {
        return text(value);
    }
}
