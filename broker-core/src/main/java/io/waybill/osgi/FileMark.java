package io.waybill.osgi;

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

/**
 * What tells whether a file changed since somebody looked.
 *
 * @param identity the inode, which is another when the file was replaced
 */
record FileMark(Object identity, long sizeBytes, FileTime modified) {

    private static final int MAX_FILES = 10_000;

    /** The regular files of a directory whose names end so, hidden ones and links not counted. */
    static Map<Path, FileMark> list(Path directory, String suffix) throws IOException {
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
        try {
            BasicFileAttributes found =
                    Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            if (found.isRegularFile()) {
                marks.put(file, new FileMark(found.fileKey(), found.size(), found.lastModifiedTime()));
            }
        } catch (NoSuchFileException e) {
            // went between listing and looking: as if it had never been listed
        }
    }
}
