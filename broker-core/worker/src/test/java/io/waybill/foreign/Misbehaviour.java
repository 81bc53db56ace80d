package io.waybill.foreign;

/** What foreign code does instead of what it should: one set for all extension points. */
public enum Misbehaviour {
    EXCEPTION,
    ERROR,
    /** Throws an exception whose own methods throw. */
    UNREADABLE,
    /** Returns null, or nothing where something is expected. */
    NULL,
    /** Does not return, and ignores interrupts. */
    HANG,
    /** Gives back what it was given, twice. */
    RELEASES_TWICE,
    /** Keeps what it was given, and uses it after its end, on another thread. */
    CALLS_AFTER_END
}
