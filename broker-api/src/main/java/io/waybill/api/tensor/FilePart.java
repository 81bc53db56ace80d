package io.waybill.api.tensor;

import java.nio.file.Path;
import java.util.Objects;

/**
 * Part of a file that contains the bytes of a {@link Storage}.
 *
 * @param file absolute, in the home of the worker that wrote it
 * @param offset offset of the first byte, a multiple of 4096; the part is as long as the storage
 */
public record FilePart(Path file, long offset) {

    public FilePart {
        Objects.requireNonNull(file);
        if (offset < 0) {
            throw new IllegalArgumentException("the offset of a part of a file is 0 or more: " + offset);
        }
    }
}
