package io.waybill.osgi.script;

import io.waybill.api.Script;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Private directory into which scripts are copied before they are compiled, so that the checked file is the one that
 * runs. Thread-safe.
 */
public final class ScriptStaging {

    /** Max size of a source. */
    static final long MAX_SOURCE_BYTES = 1 << 20;
    /** Max size of a saved module. */
    static final long MAX_MODULE_BYTES = 4L << 30;

    private static final Logger LOG = LoggerFactory.getLogger(ScriptStaging.class);
    private static final int COPY_BYTES = 1 << 16;

    private final Path directory;
    private final AtomicLong count = new AtomicLong();

    /**
     * @param directory directory that is private to this process's user; emptied, because files of an earlier process
     *     are useless
     */
    public ScriptStaging(Path directory) throws IOException {
        this.directory = directory;
        try (DirectoryStream<Path> left = Files.newDirectoryStream(directory)) {
            for (Path path : left) {
                Files.delete(path);
            }
        }
    }

    static long maxBytes(ScriptName name) {
        return name.form() == Script.Form.SOURCE ? MAX_SOURCE_BYTES : MAX_MODULE_BYTES;
    }

    /** Copies a script; the caller discards the copy after use. */
    StagedScript stage(ScriptName name, String origin, ReadableByteChannel content) throws IOException {
        Path copy = directory.resolve(count.incrementAndGet() + name.ending());
        MessageDigest digest = sha256();
        try (SeekableByteChannel out = Files.newByteChannel(
                copy,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            copy(name, content, out, digest);
        } catch (IOException e) {
            discard(copy);
            throw e;
        }
        return new StagedScript(name, copy, origin, HexFormat.of().formatHex(digest.digest()));
    }

    private static void copy(
            ScriptName name, ReadableByteChannel content, SeekableByteChannel out, MessageDigest digest)
            throws IOException {
        long left = maxBytes(name);
        ByteBuffer buffer = ByteBuffer.allocate(COPY_BYTES);
        while (content.read(buffer.clear()) >= 0) {
            buffer.flip();
            left -= buffer.remaining();
            if (left < 0) { // it may grow while it is read
                throw new IOException("it has more than " + maxBytes(name) + " bytes");
            }
            digest.update(buffer.duplicate());
            while (buffer.hasRemaining()) {
                out.write(buffer);
            }
        }
    }

    void discard(StagedScript script) {
        discard(script.copy());
    }

    private static void discard(Path copy) {
        try {
            Files.deleteIfExists(copy);
        } catch (IOException e) {
            LOG.warn("The copy {} can't be deleted and stays until the next start: {}", copy, e.getMessage());
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
