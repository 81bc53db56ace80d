package io.waybill.cli.conformance;

/** A worker's process did not do as it was told: it ended, or said nothing in time. */
final class WorkerFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    WorkerFailedException(String message) {
        super(message);
    }
}
