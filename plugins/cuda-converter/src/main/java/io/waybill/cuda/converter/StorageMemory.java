package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;

/** The memory of one storage on a device. Thread-safe. */
interface StorageMemory {

    /** Returns the address of its first byte on the device; 0 when it is empty. */
    long address();

    /** Lets the default stream of the calling thread wait for the content. */
    void orderThread() throws RejectedMessageException;

    /** Gives it back, once, to be used again after what may still use it. Does not block, and does not throw. */
    void giveBack(CudaStorage.Use use);
}
