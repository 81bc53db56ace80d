package io.waybill.home.error;

import java.io.IOException;

/** A home, or a worker's directory in it, can't be used as asked; the message says what to do about it. */
public class HomeException extends IOException {
    private static final long serialVersionUID = 1L;

    public HomeException(String message) {
        super(message);
    }

    public HomeException(String message, Throwable cause) {
        super(message, cause);
    }
}
