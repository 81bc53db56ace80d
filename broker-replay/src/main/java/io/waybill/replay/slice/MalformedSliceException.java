package io.waybill.replay.slice;

import java.io.IOException;

/** A file that is no slice, or no longer what was written. The message says what was expected, what was found, and where. */
public final class MalformedSliceException extends IOException {

    private static final long serialVersionUID = 1L;

    MalformedSliceException(String message) {
        super(message);
    }

    MalformedSliceException(String message, Throwable cause) {
        super(message, cause);
    }

    /** The same, with the place in front. */
    MalformedSliceException at(String place) {
        return new MalformedSliceException(place + ": " + getMessage(), getCause());
    }
}
