package io.waybill.home.error;

import java.io.IOException;

/** Thrown when a home, or a worker's directory in it, can't be used; the message names a remedy. */
public class HomeException extends IOException {
    private static final long serialVersionUID = 1L;

    public HomeException(String message) {
        super(message);
    }

    public HomeException(String message, Throwable cause) {
        super(message, cause);
    }
}
