package io.waybill.cuda.converter;

import jcuda.driver.CUevent;

/**
 * A piece of device memory.
 *
 * @param address of its first byte on the device; 0 when it is empty
 * @param sizeBytes as allocated
 * @param idle the event after which it can be used again; null when it can be used at once. Belongs to the block
 */
record MemoryBlock(long address, long sizeBytes, CUevent idle) {

    /** Returns the same memory with another event. */
    MemoryBlock idleAfter(CUevent event) {
        return new MemoryBlock(address, sizeBytes, event);
    }
}
