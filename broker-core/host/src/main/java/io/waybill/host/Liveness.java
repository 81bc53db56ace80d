package io.waybill.host;

/** Liveness of a process. */
public enum Liveness {
    ALIVE,
    /** The process ended, is a zombie, ran in an earlier boot, or its pid belongs to another process now. */
    DEAD,
    /** The process is not visible because it runs in another pid namespace. It must never be treated as dead. */
    UNKNOWN
}
