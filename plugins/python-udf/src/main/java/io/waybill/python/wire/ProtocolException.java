package io.waybill.python.wire;

import java.io.IOException;

/** Signals a violation of the protocol by the process, which ends the connection. */
public final class ProtocolException extends IOException {
    private static final long serialVersionUID = 1L;

    public ProtocolException(String message) {
        super(message);
    }
}
