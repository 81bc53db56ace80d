package io.waybill.dispatch;

/** How a request ended, for the counters. */
public enum Outcome {
    /** With a response. */
    DONE,
    /** With an error: the handler threw, refused, or gave no response. */
    FAILED
}
