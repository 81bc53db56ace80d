package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.ServedBy;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.Observations;
import io.waybill.worker.reference.SentReferences;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The response of a handler until it is published. Reusable.
 *
 * <p>Belongs to the thread that responds.
 */
final class ResponseBody extends ResponseWriter.Content {

    private OutgoingResponse response; // null while there is none
    private Plan plan;
    private SentReferences sharing;
    private long begunNs; // wall clock; 0 when no clock was read
    private ServedBy servedBy = ServedBy.NONE;
    private byte[] observed = Observations.NO_BYTES; // observations of the handler, in record format

    /**
     * Sets the response to send.
     *
     * @param composed belongs to the caller
     * @param handlerBegunNs time at which the handler began, by the wall clock; 0 when the clock was not read
     * @param by provider of the handler
     * @param observations the handler's observations, in record format
     */
    void open(OutgoingResponse composed, long handlerBegunNs, ServedBy by, byte[] observations) {
        response = composed;
        begunNs = handlerBegunNs;
        if (servedBy != by) {
            servedBy = by;
        }
        observed = observations;
    }

    /** Clears the response and its attachments. */
    void close() {
        if (response != null) {
            response = null;
            plan = null;
            sharing = null;
            observed = Observations.NO_BYTES;
        }
    }

    /** Replaces the observations by a mark if they would make the payload too large. */
    void fit(int maxBytes) {
        if (observed.length > 0 && payloadLength() > maxBytes) {
            observed = Observations.LEFT_OUT.encode();
        }
    }

    /**
     * Sets the attachments of the response.
     *
     * @param tensors null for none
     * @param shared the references; null for none
     */
    void travelsWith(Plan tensors, SentReferences shared) {
        plan = tensors;
        sharing = shared;
    }

    @Override
    int payloadLength() {
        return observedLength() + (sharing == null ? 0 : sharing.length());
    }

    /** Returns the length including the observations. */
    private int observedLength() {
        return length() + observed.length;
    }

    @Override
    int sectionLength() {
        return plan == null ? 0 : plan.sectionLength(payloadLength());
    }

    @Override
    void write(MessageBuffer record) {
        record.payload(array(), 0, length()).begunNs(begunNs).responder(servedBy.number());
        if (observed.length > 0) {
            record.observations(observed, length());
        }
        if (sharing != null) {
            sharing.write(record, observedLength());
        }
        if (plan != null) {
            plan.write(record, payloadLength());
            record.tensorCount(plan.tensorCount());
        }
    }

    @Override
    public Plan plan() {
        return plan;
    }

    @Override
    ServedBy servedBy() {
        return servedBy;
    }

    @Override
    int tensorCount() {
        return response.tensors().size();
    }

    /** Returns the values alone, in the first {@link #length} bytes. */
    byte[] array() {
        return response.array();
    }

    int length() {
        return response.length();
    }

    List<Tensor> tensors() {
        return response.tensors();
    }

    /** Returns the references among the values. */
    List<? extends RRef> references() {
        return response.references();
    }

    /** Content of an error response. */
    static final class OfError extends ResponseWriter.Content {

        private final Failure failure;
        private final byte[] utf8;
        private final long
                begunNs; // when the handler began, by the wall clock; 0 when none did, or the clock was not read
        private final byte[] observed; // observations of the handler until then, in record format
        private final ServedBy servedBy;

        /** Creates the error of a request whose handler began or observed something. */
        OfError(Failure failure, long begunNs, byte[] observed, ServedBy servedBy) {
            this.failure = failure;
            this.utf8 = failure.text().getBytes(StandardCharsets.UTF_8);
            this.begunNs = begunNs;
            this.observed = observed;
            this.servedBy = servedBy;
        }

        /** Creates the error of a request whose handler did not begin, or observed nothing that is on record. */
        OfError(Failure failure) {
            this(failure, 0, Observations.NO_BYTES, ServedBy.NONE);
        }

        @Override
        ErrorCode code() {
            return failure.code();
        }

        @Override
        ServedBy servedBy() {
            return servedBy;
        }

        private int textLength() {
            return Math.min(utf8.length, Failure.MAX_TEXT_BYTES);
        }

        @Override
        int payloadLength() {
            return textLength() + observed.length;
        }

        @Override
        void write(MessageBuffer record) {
            record.payload(utf8, 0, textLength())
                    .error(failure.kind(), failure.code())
                    .begunNs(begunNs)
                    .responder(servedBy.number());
            if (failure.root().isThere()) {
                record.root(failure.root().code(), failure.root().id());
            }
            if (observed.length > 0) {
                record.observations(observed, textLength());
            }
        }
    }
}
