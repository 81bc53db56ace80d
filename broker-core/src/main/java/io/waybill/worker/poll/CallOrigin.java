package io.waybill.worker.poll;

import io.waybill.api.MessageId;

/** On whose behalf calls are made. */
public interface CallOrigin {

    /** A program's: of no request. */
    CallOrigin PROGRAM = new CallOrigin() {
        @Override
        public long parent() {
            return MessageId.NONE;
        }

        @Override
        public long deadlineNs() {
            return 0;
        }
    };

    /**
     * The request whose handler calls; {@link MessageId#NONE} for none.
     *
     * @throws IllegalStateException when the handler has returned
     */
    long parent();

    /** That request's, on CLOCK_BOOTTIME; 0 for none. */
    long deadlineNs();
}
