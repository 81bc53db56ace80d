package io.waybill.worker.reference;

import io.waybill.api.handler.LateResponse;

/** A late response that can contain a value that this worker owns. */
public interface ValueResponse extends LateResponse {

    /**
     * Sends the value, which must stay open until this method returns.
     *
     * @throws io.waybill.api.CallException when a reference in the value has failed; no response was sent
     */
    void send(StoredValue value);
}
