package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;

/** The memory of one storage on a device. Thread-safe. */
interface StorageMemory {

    /** Returns the address of its first byte on the device; 0 if it is empty. */
    long address();

    /** Makes the default stream of the calling thread wait for the content. */
    void orderThread() throws RejectedMessageException;

    /** Returns the memory, once, for reuse after its last users. Never blocks or throws. */
    void giveBack(CudaStorage.Use use);
}
