package io.waybill.host;

import java.io.IOException;
import java.nio.file.Path;
import jnr.constants.platform.Errno;

/** A system call failed. The message reads {@code ENOSPC (No space left on device): fallocate of 64 MiB of /a/file}. */
public final class NativeCallException extends IOException {
    private static final long serialVersionUID = 1L;

    private final Errno errno;

    NativeCallException(int errno, String what) {
        this(Errno.valueOf(errno), errno, what);
    }

    /** The failure of {@code what}, followed by the path; {@code path} may be null. */
    static NativeCallException of(int errno, String what, Path path) {
        return new NativeCallException(errno, path == null ? what : what + path);
    }

    private NativeCallException(Errno errno, int number, String what) {
        super((errno == Errno.__UNKNOWN_CONSTANT__ ? "errno " + number : errno.name() + " (" + errno + ")") + ": "
                + what);
        this.errno = errno;
    }

    /** Returns the system's text for an error, in the language of the process: what the JDK's exceptions contain. */
    public static String systemText(int errno) {
        return new LibC().strerror(errno);
    }

    /** Returns the symbolic name of the error, such as {@code ENOSPC}. */
    public String errno() {
        return errno.name();
    }

    /** Whether it failed for want of space: a full disk or a used-up quota. */
    public boolean isDiskFull() {
        return errno == Errno.ENOSPC || errno == Errno.EDQUOT;
    }

    /** Whether this kernel or file system does not know the call. */
    public boolean isUnsupported() {
        return errno == Errno.EOPNOTSUPP || errno == Errno.ENOTSUP || errno == Errno.ENOSYS || errno == Errno.EINVAL;
    }

    boolean is(Errno other) {
        return errno == other;
    }
}
