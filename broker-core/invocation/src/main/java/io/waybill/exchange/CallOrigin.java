package io.waybill.exchange;

import io.waybill.api.MessageId;

/** Origin of a call: the program, or a request whose handler makes nested calls. */
public interface CallOrigin {

    /** Origin of the program's calls, outside of any request. */
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
     * Returns the request whose handler calls; {@link MessageId#NONE} for none.
     *
     * @throws IllegalStateException when the handler has returned
     */
    long parent();

    /** Returns the deadline of that request, on CLOCK_BOOTTIME; 0 for none. */
    long deadlineNs();
}
