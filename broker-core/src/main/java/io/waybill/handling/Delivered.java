package io.waybill.handling;

/** Whether an earlier incarnation may have begun a request. */
public enum Delivered {
    /** No handler has seen it. */
    FIRST,
    /** One may have. */
    AGAIN
}
