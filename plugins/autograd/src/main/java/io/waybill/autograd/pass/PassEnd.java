package io.waybill.autograd.pass;

import io.waybill.api.CallException;

/** Waits for the end of a pass in this worker, or of its part of a discovery. One of the methods is called, once, on any thread. */
public interface PassEnd {

    /** All is done, here and in the workers that were called for it. */
    void done();

    /** It failed, here or elsewhere. */
    void failed(CallException failure);
}
