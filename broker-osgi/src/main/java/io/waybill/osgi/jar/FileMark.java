package io.waybill.osgi.jar;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Attributes that show whether a file changed since the last scan.
 *
 * @param identity the inode, which a replacement does not share
 */
public record FileMark(Object identity, long sizeBytes, FileTime modified) {

    private static final int MAX_FILES = 10_000;

    /** The regular files of a directory whose names end so, hidden ones and links not counted. */
    public static Map<Path, FileMark> list(Path directory, String suffix) throws IOException {
        Map<Path, FileMark> marks = new HashMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (name.endsWith(suffix) && name.length() > suffix.length() && !name.startsWith(".")) {
                    mark(file, marks);
                }
                if (marks.size() > MAX_FILES) {
                    throw new IOException("more than " + MAX_FILES + " files in " + directory);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return marks;
    }

    private static void mark(Path file, Map<Path, FileMark> marks) throws IOException {
        Optional<BasicFileAttributes> found = look(file);
        if (found.isPresent() && found.get().isRegularFile()) {
            marks.put(file, of(found.get()));
        }
    }

    /** Reads the attributes at a path, without following a link; empty when nothing exists. */
    public static Optional<FileMark> at(Path file) throws IOException {
        return look(file).map(FileMark::of);
    }

    private static FileMark of(BasicFileAttributes found) {
        return new FileMark(found.fileKey(), found.size(), found.lastModifiedTime());
    }

    private static Optional<BasicFileAttributes> look(Path file) throws IOException {
        try {
            return Optional.of(Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS));
        } catch (NoSuchFileException e) {
            return Optional.empty(); // removed between listing and reading: as if it had never been listed
        }
    }
}
