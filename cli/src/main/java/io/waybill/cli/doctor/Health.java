package io.waybill.cli.doctor;

import java.util.Locale;

/** Verdict of one check. */
enum Health {
    /** The check passed. */
    OK,
    /** Not available, and needed by some functions only. */
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
