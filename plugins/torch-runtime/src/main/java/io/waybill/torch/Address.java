package io.waybill.torch;

import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/** Address of memory that this pointer does not own: freeing it has no effect. */
final class Address extends Pointer {

    Address(long address) {
        this.address = address;
    }

    /** Returns the given number of bytes from this address. */
    BytePointer bytes(int length) {
        return new BytePointer(this).capacity(length);
    }
}
