package io.waybill.host;

/** Whether a process lives. */
public enum Liveness {
    ALIVE,
    /** It ended, or is a zombie, or ran in an earlier boot, or its pid belongs to another process now. */
    DEAD,
    /** It can't be seen from here: it lives in another pid namespace. Never to be treated as dead. */
    UNKNOWN
}
