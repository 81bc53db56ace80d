package io.waybill.replay.slice;

import java.util.Locale;
import java.util.Optional;

/** What of the payloads and the tensors goes into a slice. */
public enum Payloads {
    /** All of it. */
    FULL,
    /** The SHA-256 of each. */
    DIGEST,
    /** Nothing. */
    NONE;

    /** As options and files have it. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The one that is written so. */
    public static Optional<Payloads> named(String text) {
        for (Payloads each : values()) {
            if (each.text().equals(text)) {
                return Optional.of(each);
            }
        }
        return Optional.empty();
    }
}
