package io.waybill.host;

import java.io.IOException;

/** Exceptions of failed system calls, for tests of other packages. */
public final class NativeFailures {

    private NativeFailures() {}

    public static IOException of(int errno, String what) {
        return new NativeCallException(errno, what);
    }
}
