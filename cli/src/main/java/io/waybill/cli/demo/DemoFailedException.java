package io.waybill.cli.demo;

/** Something did not hold that the demo shows. */
public final class DemoFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    DemoFailedException(String message) {
        super(message);
    }
}
