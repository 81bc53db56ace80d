package io.waybill.archive;

import java.io.IOException;

/** The bytes that were to be archived can't be read. */
final class UnreadableBytesException extends IOException {

    private static final long serialVersionUID = 1L;

    UnreadableBytesException(IOException cause) {
        super(cause.getMessage(), cause);
    }
}
