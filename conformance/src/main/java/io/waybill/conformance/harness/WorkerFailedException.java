package io.waybill.conformance.harness;

/** A worker's process ended, or sent no response in time. */
final class WorkerFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    WorkerFailedException(String message) {
        super(message);
    }
}
