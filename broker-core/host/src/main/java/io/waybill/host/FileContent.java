package io.waybill.host;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** Writer of the content of a new file, which gets its name when it is complete. */
@FunctionalInterface
public interface FileContent {

    /**
     * Writes the content.
     *
     * @param channel channel of the empty file, owned by the callee until it returns
     */
    void writeTo(FileChannel channel) throws IOException;

    /** Returns content that is written in one piece. */
    static FileContent of(byte[] content) {
        return channel -> {
            for (ByteBuffer bytes = ByteBuffer.wrap(content); bytes.hasRemaining(); ) {
                channel.write(bytes);
            }
        };
    }
}
