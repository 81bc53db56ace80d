package io.waybill.dispatch;

/** Outcome of a request, for the counters. */
public enum Outcome {
    /** Ended with a response. */
    DONE,
    /** Ended with an error: the handler threw, rejected the request, or gave no response. */
    FAILED
}
