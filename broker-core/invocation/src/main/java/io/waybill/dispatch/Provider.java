package io.waybill.dispatch;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * Provider of a handler: a bundle by its symbolic name, or a part of a plain program.
 *
 * @param name also the prefix of the names of its threads
 * @param version version as the provider writes it
 */
public record Provider(String name, String version) {
    public Provider {
        Objects.requireNonNull(name);
        Objects.requireNonNull(version);
    }

    /** Returns the number that stands for name and version in records: the same in each process, and not 0. */
    public long number() {
        long hash = 0xcbf29ce484222325L; // FNV-1a
        for (byte each : (name + '\0' + version).getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ each & 0xff) * 0x100000001b3L;
        }
        return hash == 0 ? 1 : hash;
    }

    @Override
    public String toString() {
        return name + " " + version;
    }
}
