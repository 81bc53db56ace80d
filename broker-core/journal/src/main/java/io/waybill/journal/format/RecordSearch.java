package io.waybill.journal.format;

import io.waybill.wire.Envelope;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** Searches for records in a file whose own documents are unreliable. Stateless. */
public final class RecordSearch {

    private static final int CHUNK = 64 << 10;
    private static final int LEAST = Frame.LENGTH + Envelope.HEADER_LENGTH;
    private static final ByteBuffer ZEROS = ByteBuffer.allocate(CHUNK).asReadOnlyBuffer();

    private RecordSearch() {}

    /** Returns whether bytes in the file match the beginning of a record. Reads the file up to there. */
    public static boolean findsAny(Path file) throws IOException {
        ByteBuffer chunk = ByteBuffer.allocate(CHUNK).order(ByteOrder.LITTLE_ENDIAN);
        try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) { // no interrupt closes a stream
            while (fill(chunk, in) || chunk.position() == CHUNK) {
                chunk.flip();
                skipZeros(chunk);
                while (chunk.remaining() >= LEAST) {
                    if (isRecord(chunk, chunk.position())) {
                        return true;
                    }
                    chunk.position(chunk.position() + Frame.LENGTH);
                }
                chunk.compact();
            }
        }
        return false;
    }

    /** Reads more bytes; false at the end of the file. */
    private static boolean fill(ByteBuffer chunk, InputStream in) throws IOException {
        int read = in.read(chunk.array(), chunk.position(), chunk.remaining());
        chunk.position(chunk.position() + Math.max(0, read));
        return read >= 0;
    }

    /** Skips zeros: most of the space that is reserved and not written yet. */
    private static void skipZeros(ByteBuffer chunk) {
        int zeros = chunk.mismatch(ZEROS.duplicate().limit(chunk.limit()));
        int end = zeros < 0 ? chunk.limit() : zeros;
        chunk.position(end / Frame.LENGTH * Frame.LENGTH);
    }

    private static boolean isRecord(ByteBuffer bytes, int at) {
        int header = at + Frame.LENGTH;
        return Frame.holds(
                bytes.getInt(at),
                bytes.getInt(header + Envelope.MAGIC_AT),
                bytes.getInt(header + Envelope.PAYLOAD_LENGTH),
                bytes.getInt(header + Envelope.SECTION_LENGTH));
    }
}
