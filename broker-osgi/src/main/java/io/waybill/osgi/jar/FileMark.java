package io.waybill.osgi.jar;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Attributes that show whether a file changed since the last scan. For a symbolic link they are its target's, if the
 * target exists.
 *
 * @param identity the inode, which a replacement does not share
 * @param changed time of the last write, rename, link or change of permissions
 */
public record FileMark(Object identity, long sizeBytes, FileTime modified, FileTime changed) {

    private static final int MAX_FILES = 10_000;
    private static final String ATTRIBUTES = "unix:fileKey,size,lastModifiedTime,ctime,isRegularFile,isDirectory";

    /**
     * Lists the files of a directory whose names have the suffix, in lower or upper case. Skips directories and hidden
     * files, and includes links to files; the reader of a file decides whether a link is allowed.
     *
     * @param suffix in lower case
     */
    public static Map<Path, FileMark> list(Path directory, String suffix) throws IOException {
        Map<Path, FileMark> marks = new HashMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                boolean isMeant = name.toLowerCase(Locale.ROOT).endsWith(suffix);
                if (isMeant && name.length() > suffix.length() && !name.startsWith(".")) {
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
        Optional<Map<String, Object>> found;
        try {
            found = look(file);
        } catch (FileSystemException e) { // a link to itself, or to an unreadable directory: the reader reports it
            found = Optional.empty();
        }
        if (found.isEmpty()) { // a dangling link, or a removed file
            found = look(file, LinkOption.NOFOLLOW_LINKS);
        }
        found.filter(attributes -> !attributes.get("isDirectory").equals(true))
                .ifPresent(attributes -> marks.put(file, of(attributes)));
    }

    /** Reads the attributes at a path, without following a link; empty if nothing exists. */
    public static Optional<FileMark> at(Path file) throws IOException {
        return look(file, LinkOption.NOFOLLOW_LINKS).map(FileMark::of);
    }

    private static FileMark of(Map<String, Object> found) {
        return new FileMark(
                found.get("fileKey"), (long) found.get("size"), (FileTime) found.get("lastModifiedTime"), (FileTime)
                        found.get("ctime"));
    }

    private static Optional<Map<String, Object>> look(Path file, LinkOption... options) throws IOException {
        try {
            return Optional.of(Files.readAttributes(file, ATTRIBUTES, options));
        } catch (NoSuchFileException e) {
            return Optional.empty(); // removed between listing and reading: treated as never listed
        }
    }
}
