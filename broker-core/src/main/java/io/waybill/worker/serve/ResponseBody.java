package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.Observations;
import io.waybill.worker.peer.QueueAppender;
import io.waybill.worker.reference.SentReferences;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The content of a response while it is sent. Reusable.
 *
 * <p>Belongs to the thread that responds.
 */
final class ResponseBody implements ResponseWriter.Content {

    private OutgoingResponse response; // null while there is none
    private Plan plan;
    private SentReferences sharing;
    private long begunNs; // wall clock; 0 when no clock was read
    private long responder; // the number of the handler's provider; 0 for none
    private byte[] observed = Observations.NO_BYTES; // of the handler, in record format

    /**
     * Sets what is sent.
     *
     * @param composed belongs to the caller
     * @param handlerBegunNs when the handler began, by the wall clock; 0 when the clock was not read
     * @param provider the number of the handler's provider; 0 for none
     * @param observations what the handler observed, in record format
     */
    void open(OutgoingResponse composed, long handlerBegunNs, long provider, byte[] observations) {
        response = composed;
        begunNs = handlerBegunNs;
        responder = provider;
        observed = observations;
    }

    /** Forgets the response, and what travelled with it. */
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
    public int payloadLength() {
        return observedLength() + (sharing == null ? 0 : sharing.length());
    }

    /** Returns the length including the observations. */
    private int observedLength() {
        return length() + observed.length;
    }

    @Override
    public int sectionLength() {
        return plan == null ? 0 : plan.sectionLength(payloadLength());
    }

    @Override
    public void write(MessageBuffer record) {
        record.payload(array(), 0, length()).begunNs(begunNs).responder(responder);
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
    public void appended(QueueAppender appender, long sequence, long id) {
        if (plan != null) {
            appender.appended(plan, sequence, id);
        }
    }

    @Override
    public void published(QueueAppender appender, long id) {
        if (plan != null) {
            appender.committed(plan, id);
        }
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

    /**
     * Content of an error response.
     *
     * @param begunNs when the handler began, by the wall clock; 0 when none did, or the clock was not read
     * @param observed what it observed until then, in record format
     * @param responder the number of the handler's provider; 0 when no handler was chosen
     */
    record OfError(Failure failure, byte[] utf8, long begunNs, byte[] observed, long responder)
            implements ResponseWriter.Content {

        OfError(Failure failure, long begunNs, byte[] observed, long responder) {
            this(failure, utf8(failure), begunNs, observed, responder);
        }

        /** Creates the error of a request whose handler did not begin, or observed nothing that is on record. */
        OfError(Failure failure) {
            this(failure, utf8(failure), 0, Observations.NO_BYTES, 0);
        }

        private static byte[] utf8(Failure failure) {
            return failure.text().getBytes(StandardCharsets.UTF_8);
        }

        ErrorCode code() {
            return failure.code();
        }

        private int textLength() {
            return Math.min(utf8.length, Failure.MAX_TEXT_BYTES);
        }

        @Override
        public int payloadLength() {
            return textLength() + observed.length;
        }

        @Override
        public void write(MessageBuffer record) {
            record.payload(utf8, 0, textLength())
                    .error(failure.kind(), failure.code())
                    .begunNs(begunNs)
                    .responder(responder);
            if (failure.root().isThere()) {
                record.root(failure.root().code(), failure.root().id());
            }
            if (observed.length > 0) {
                record.observations(observed, textLength());
            }
        }
    }
}
