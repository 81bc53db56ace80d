package io.waybill.dispatch;

import java.util.Objects;

/**
 * Provider of a handler: a bundle by its symbolic name, or a part of a plain program.
 *
 * @param name also the prefix of the names of its threads
 * @param version as the provider writes it
 */
public record Provider(String name, String version) {
    public Provider {
        Objects.requireNonNull(name);
        Objects.requireNonNull(version);
    }

    @Override
    public String toString() {
        return name + " " + version;
    }
}
