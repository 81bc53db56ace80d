package io.waybill.home.cursor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * Attributes that show a change of a file without opening it. Immutable.
 *
 * @param key device and inode, which a replacement does not share
 */
public record FileStamp(long modifiedNs, long size, Object key) {
    public static final FileStamp MISSING = new FileStamp(0, -1, "missing");
    /** Max tick of a file system's clock: a file may change again within one tick, and its stamp stays equal. */
    private static final long COARSEST_TICK_NS = 100_000_000;

    public static FileStamp of(Path path) throws IOException {
        try {
            BasicFileAttributes attributes =
                    Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            return new FileStamp(
                    attributes.lastModifiedTime().to(TimeUnit.NANOSECONDS), attributes.size(), attributes.fileKey());
        } catch (NoSuchFileException e) {
            return MISSING;
        }
    }

    // written out, as hashCode is: the JVM would generate them at the first use, which is in the path of each join
    @Override
    public boolean equals(Object other) {
        return other instanceof FileStamp that
                && modifiedNs == that.modifiedNs
                && size == that.size
                && Objects.equals(key, that.key);
    }

    @Override
    public int hashCode() {
        return Objects.hash(modifiedNs, size, key);
    }

    /** Returns whether the file, read at this time, may yet change without a change of its stamp. */
    public boolean isTooYoung(long wallNs) {
        return Math.abs(wallNs - modifiedNs) < COARSEST_TICK_NS;
    }
}
