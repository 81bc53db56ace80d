package io.waybill.host;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** A file that was mapped and then cut to nothing: to read it is a fault. */
public final class CutFile {

    private static final int BYTES = 1 << 16;

    private final MappedByteBuffer mapped;
    private long read; // kept, or a compiler would not read at all

    public CutFile(Path path) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(BYTES);
            mapped = file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, BYTES);
            file.setLength(0);
        }
    }

    /** Meets the fault, which is thrown now or later. */
    public void read() {
        read += mapped.getLong(BYTES / 2);
    }
}
