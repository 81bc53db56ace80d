package io.waybill.wire;

import io.waybill.api.handler.Outbox;

/**
 * One thing that a handler learned through its {@link Outbox} or its message, and that another run would tell it otherwise. Immutable.
 *
 * @param value by its kind
 */
public record Observation(Kind kind, long value) {

    /** What was observed, with the code that stands in the record. */
    public enum Kind {
        /** A look at {@link Outbox#clock}: wall clock in ns since 1970. */
        TIME(1),
        /** The first use of {@link Outbox#random}: the seed of a {@link java.util.Random}. */
        SEED(2),
        /** A look at {@link io.waybill.api.Message#remainingNs} of a request that has a deadline: what was left, in ns. */
        LEFT(3);

        private final int code;

        Kind(int code) {
            this.code = code;
        }

        int code() {
            return code;
        }

        static Kind of(int code) throws MalformedRecordException {
            for (Kind kind : values()) {
                if (kind.code == code) {
                    return kind;
                }
            }
            throw new MalformedRecordException("no kind of observation has the code " + code);
        }
    }
}
