package io.waybill.host;

import java.io.IOException;
import java.nio.channels.FileChannel;

/** Writes the content of a new file, which gets its name when it is whole. */
@FunctionalInterface
public interface FileContent {

    /** @param channel of the empty file; the callee's until it returns */
    void writeTo(FileChannel channel) throws IOException;
}
