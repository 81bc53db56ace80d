package io.waybill.cli.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * Files in which the kernel and the loader describe this machine. An unreadable file counts as absent. Immutable.
 *
 * @param root their root directory: {@code /}, or a test's own
 */
record HostFiles(Path root) {

    private static final int MAX_BYTES = 4 << 20; // the loader's cache has some 100 kB

    /** Returns the text of a file, one character for each byte; empty if there is none. */
    String text(String path) {
        try (InputStream in = Files.newInputStream(at(path))) {
            return new String(in.readNBytes(MAX_BYTES), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }

    /** Returns the text of a one-line file. */
    String line(String path) {
        return text(path).strip();
    }

    /** Returns the number in a file. */
    OptionalLong number(String path) {
        String text = line(path);
        return text.matches("[0-9]{1,18}") ? OptionalLong.of(Long.parseLong(text)) : OptionalLong.empty();
    }

    /** Returns the names in a directory, in order. */
    List<String> names(String directory) {
        try (Stream<Path> entries = Files.list(at(directory))) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    boolean exists(String path) {
        return Files.exists(at(path), LinkOption.NOFOLLOW_LINKS);
    }

    /** Returns whether this process may read and write the file at a path. */
    boolean isUsable(String path) {
        return Files.isReadable(at(path)) && Files.isWritable(at(path));
    }

    Path at(String path) {
        return root.resolve(path);
    }
}
