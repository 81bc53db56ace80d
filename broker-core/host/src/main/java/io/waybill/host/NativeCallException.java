package io.waybill.host;

import java.io.IOException;
import java.nio.file.Path;
import jnr.constants.platform.Errno;

/**
 * Thrown when a system call failed. The message reads
 * {@code ENOSPC (No space left on device): fallocate of 64 MiB of /a/file}; it is composed when it is requested, since
 * a join has some calls that may fail, of which only the number is used.
 */
public final class NativeCallException extends IOException {
    private static final long serialVersionUID = 1L;

    private final int number;

    NativeCallException(int errno, String what) {
        super(what);
        this.number = errno;
    }

    /** Returns the failure of {@code what}, followed by the path; {@code path} may be null. */
    static NativeCallException of(int errno, String what, Path path) {
        return new NativeCallException(errno, path == null ? what : what + path);
    }

    /** Returns the system's text for an error, in the language of the process, as in the JDK's exceptions. */
    public static String systemText(int errno) {
        return new LibC().strerror(errno);
    }

    @Override
    public String getMessage() {
        Errno errno = Errno.valueOf(number);
        return (errno == Errno.__UNKNOWN_CONSTANT__ ? "errno " + number : errno.name() + " (" + errno + ")") + ": "
                + super.getMessage();
    }

    /** Returns the symbolic name of the error, such as {@code ENOSPC}. */
    public String errno() {
        return Errno.valueOf(number).name();
    }

    /** Returns whether the call failed for lack of space: a full disk or an exhausted quota. */
    public boolean isDiskFull() {
        Errno errno = Errno.valueOf(number);
        return errno == Errno.ENOSPC || errno == Errno.EDQUOT;
    }

    /** Returns whether this kernel or file system does not know the call. */
    public boolean isUnsupported() {
        Errno errno = Errno.valueOf(number);
        return errno == Errno.EOPNOTSUPP || errno == Errno.ENOTSUP || errno == Errno.ENOSYS || errno == Errno.EINVAL;
    }

    boolean is(int errno) {
        return number == errno;
    }
}
