package io.waybill.torch;

import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/** An address of memory that this pointer does not own: freeing it does nothing. */
final class Address extends Pointer {

    Address(long address) {
        this.address = address;
    }

    /** Returns this many bytes from here on. */
    BytePointer bytes(int length) {
        return new BytePointer(this).capacity(length);
    }
}
