package io.waybill.worker;

import io.waybill.api.LateReply;

/** A late answer that may be a value that this worker owns. */
interface ValueReply extends LateReply {

    /**
     * Sends the value; good until this returns.
     *
     * @throws io.waybill.api.CallException when a reference that it holds has failed; nothing was answered
     */
    void send(StoredValue value);
}
