package io.waybill.cuda.converter;

import jcuda.driver.CUevent;

/**
 * A piece of device memory.
 *
 * @param address of its first byte on the device; 0 if it is empty
 * @param sizeBytes as allocated
 * @param idle event after which the block is reusable; null if it is already reusable. Owned by the block
 */
record MemoryBlock(long address, long sizeBytes, CUevent idle) {

    /** Returns the same memory with another event. */
    MemoryBlock idleAfter(CUevent event) {
        return new MemoryBlock(address, sizeBytes, event);
    }
}
