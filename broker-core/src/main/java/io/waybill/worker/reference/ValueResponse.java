package io.waybill.worker.reference;

import io.waybill.api.handler.LateResponse;

/** A late response that may be a value that this worker owns. */
public interface ValueResponse extends LateResponse {

    /**
     * Sends the value; good until this returns.
     *
     * @throws io.waybill.api.CallException when a reference that it holds has failed; nothing was answered
     */
    void send(StoredValue value);
}
