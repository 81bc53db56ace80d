package io.waybill.cuda.converter;

import jcuda.Pointer;

/** A pointer to host memory by its address. JCuda creates pointers only from buffers, which are limited to 2 GiB. */
final class HostPointer extends Pointer {

    private static final long serialVersionUID = 1L;

    HostPointer(long address) {
        super(address);
    }
}
