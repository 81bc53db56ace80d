package io.waybill.journal;

import java.nio.file.Path;

/**
 * Range of a queue's file without a record where one is expected. Immutable. The text names offsets and lengths, never
 * content.
 *
 * @param file with the range
 * @param from first byte
 * @param to end of the range, exclusive
 * @param text what was expected and what was found
 */
public record Damage(Path file, long from, long to, String text) {

    @Override
    public String toString() {
        return file + ":" + from + ".." + to + ": " + text;
    }
}
