package io.waybill.replay.slice;

import java.util.Locale;
import java.util.Optional;

/** Part of the payloads and tensors that a slice contains. */
public enum Payloads {
    /** Payloads and tensors. */
    FULL,
    /** The SHA-256 of each. */
    DIGEST,
    /** Neither payloads nor tensors. */
    NONE;

    /** Returns the name in options and files. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns the value with this name. */
    public static Optional<Payloads> named(String text) {
        for (Payloads each : values()) {
            if (each.text().equals(text)) {
                return Optional.of(each);
            }
        }
        return Optional.empty();
    }
}
