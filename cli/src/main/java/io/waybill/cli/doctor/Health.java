package io.waybill.cli.doctor;

import java.util.Locale;

/** Verdict about one thing that was checked. */
enum Health {
    /** As it should be. */
    OK,
    /** Not there, and not needed by all: what some functions use. */
    NOTE,
    /** Waybill works, but slower or with fewer guarantees. */
    WARNING,
    /** Waybill does not work without it. */
    MISSING;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
