package io.waybill.wire;

import io.waybill.api.handler.Outbox;

/**
 * One input that a handler observed through its {@link Outbox} or its message, and that another run would observe
 * differently. Immutable.
 *
 * @param value the observed value, whose meaning depends on the kind
 */
public record Observation(Kind kind, long value) {

    /** Kind of an observation, with its code in the record. */
    public enum Kind {
        /** Reading of {@link Outbox#clock}: wall clock in ns since 1970. */
        TIME(1),
        /** First use of {@link Outbox#random}: the seed of a {@link java.util.Random}. */
        SEED(2),
        /**
         * Reading of {@link io.waybill.api.Message#remainingNs} of a request with a deadline: the remaining time in ns.
         */
        LEFT(3),
        /**
         * Times of {@link Outbox#arrival} but the first, which the request has: wall clock in ns since 1970. Five in a
         * row, once.
         */
        ARRIVAL(4);

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
