package io.waybill.cli.select;

import io.waybill.api.MessageId;
import io.waybill.cli.command.UsageException;

/** Parses ids of messages in options. Stateless. */
public final class MessageIds {

    private static final String RANGE = "..";

    private MessageIds() {}

    public static long parse(String id) throws UsageException {
        try {
            return MessageId.parse(id).value();
        } catch (IllegalArgumentException e) {
            throw new UsageException(e.getMessage(), e);
        }
    }

    /** Parses a range of ids: {@code 3.7}, or {@code 3.7..3.12}, the first and the last. */
    static long[] range(String text) throws UsageException {
        int at = text.indexOf(RANGE);
        long first = parse(at < 0 ? text : text.substring(0, at));
        long last = at < 0 ? first : parse(text.substring(at + RANGE.length()));
        if (Long.compareUnsigned(first, last) > 0) {
            throw new UsageException("the first id is after the last: " + text);
        }
        return new long[] {first, last};
    }
}
