package io.waybill.journal;

import java.nio.file.Path;

/**
 * A range of a queue's file that holds no record where one must be. Immutable. The text names offsets and lengths, never content.
 *
 * @param file that it lies in
 * @param from first byte
 * @param to behind the last byte
 * @param text what was expected and what was found
 */
public record Damage(Path file, long from, long to, String text) {

    @Override
    public String toString() {
        return file + ":" + from + ".." + to + ": " + text;
    }
}
