package io.waybill.cli.demo;

/** Signals that a property which the demo shows did not hold. */
public final class DemoFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    DemoFailedException(String message) {
        super(message);
    }
}
