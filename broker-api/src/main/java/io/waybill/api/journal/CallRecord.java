package io.waybill.api.journal;

import io.waybill.api.ErrorCode;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/** A recorded call: a request with its outcome for the caller. Immutable. */
@ProviderType
public interface CallRecord {

    /** Outcome of a request, as far as the journals and the workers' notes show it. */
    enum Outcome {
        OK,
        ERROR,
        /**
         * No response, and the caller's worker has noted no error: the request is running, or its caller ended before
         * it.
         */
        NONE
    }

    /** Returns the id of the request, which its response has, too. */
    default long id() {
        return request().id();
    }

    MessageRecord request();

    /** Returns the operation of a call by name; with the prefix {@code control:} if it is the broker's own. */
    Optional<String> operation();

    /** Returns the response in its receiver's journal, which may have arrived too late. */
    Optional<? extends MessageRecord> response();

    Outcome outcome();

    /** Returns the code of the error that the caller received; empty if it received none. */
    Optional<ErrorCode> errorCode();

    /** Returns the code of the call whose failure caused the error that the caller received; empty if none did. */
    Optional<ErrorCode> rootCode();

    /** Returns whether there is a response that arrived after the end of its call. */
    boolean isLate();

    /**
     * Returns the time in ns between sending the request and its outcome, by the wall clock: the response, or the error
     * that the caller's worker gave it. Empty while there is none.
     */
    Optional<Long> tookNs();

    /** Returns name and version of the bundle that responded; empty if it is not known. */
    Optional<String> responder();
}
