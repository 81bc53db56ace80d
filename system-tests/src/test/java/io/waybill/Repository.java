package io.waybill;

import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Where the sources and the documents of this project lie, seen from a test. Stateless. */
final class Repository {

    /** The classes of main sources alone, also where the modules are seen as jars. */
    static final ImportOption MAIN_CLASSES =
            location -> !location.contains("/test-classes/") && !location.contains("-tests.jar");

    private Repository() {}

    /** The directory that holds the parent pom and the modules. Tests run in the directory of their own module. */
    static Path root() {
        Path directory = Path.of("").toAbsolutePath();
        while (!Files.isDirectory(directory.resolve("broker-api"))) {
            directory = directory.getParent();
            if (directory == null) {
                throw new IllegalStateException(
                        "no broker-api beside or above " + Path.of("").toAbsolutePath());
            }
        }
        return directory;
    }

    /** The directories of main sources, in every module, that hold Java files. */
    static List<Path> sourceDirectories(Path root) {
        return files(root, ".java").stream()
                .map(Path::getParent)
                .distinct()
                .filter(directory -> directory.toString().contains("/src/main/java/"))
                .toList();
    }

    /** The README, and all pages of the book. */
    static List<Path> pages(Path root) {
        return files(root, ".md");
    }

    /** All files below a directory whose names have this ending, but what a build wrote. */
    static List<Path> files(Path root, String suffix) {
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(file -> file.toString().endsWith(suffix))
                    .filter(file -> {
                        String inside = "/" + root.relativize(file);
                        return !inside.contains("/target/") && !inside.contains("/.");
                    })
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
