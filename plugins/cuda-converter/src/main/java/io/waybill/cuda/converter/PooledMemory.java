package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;

/** Memory of the pool, to which a copy may still run. Takes the block over. */
record PooledMemory(CudaDevice device, MemoryBlock block, ArrivingCopy arrival) implements StorageMemory {

    @Override
    public long address() {
        return block.address();
    }

    @Override
    public void orderThread() throws RejectedMessageException {
        device.orderAfter(arrival);
    }

    @Override
    public void giveBack(CudaStorage.Use use) {
        device.giveBack(block, arrival, use);
    }
}
