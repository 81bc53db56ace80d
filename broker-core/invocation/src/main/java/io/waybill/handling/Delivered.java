package io.waybill.handling;

/** Record of whether an earlier incarnation may have begun a request. */
public enum Delivered {
    /** No handler has begun the request. */
    FIRST,
    /** A handler may have begun the request. */
    AGAIN
}
