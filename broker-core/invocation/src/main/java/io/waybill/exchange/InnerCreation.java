package io.waybill.exchange;

import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;

/**
 * Creation of the value of a remote reference by a message inside the request that has the reference.
 *
 * <p><b>Threads.</b> Belongs to the thread that ends the message.
 */
public interface InnerCreation {

    /** Stores a handler's result as the value, and makes it the response that names the reference. */
    void create(OutgoingResponse result);

    /** Completes the reference with an error instead of a value. */
    void createFailed(Failure failure);

    /** Sets the content of the response to the one that names the reference. */
    void nameCreated(OutgoingResponse response);

    /**
     * Ends the creation with a handler's composed response, or with its failure.
     *
     * @param failed null when it responded
     * @return the response that names the reference
     */
    default OutgoingResponse ended(OutgoingResponse composed, Failure failed) {
        if (failed == null) {
            create(composed);
            return composed;
        }
        createFailed(failed);
        OutgoingResponse names = composed.another(); // the handler's thread may still be inside
        nameCreated(names);
        return names;
    }
}
