package io.waybill.handling;

/** Whether an earlier life may have begun a request. */
public enum Delivered {
    /** No handler has seen it. */
    FIRST,
    /** One may have. */
    AGAIN
}
