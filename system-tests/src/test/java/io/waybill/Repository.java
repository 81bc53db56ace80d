package io.waybill;

import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;

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
        List<Path> found = new ArrayList<>();
        try {
            Files.walkFileTree(root, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                    String name = String.valueOf(directory.getFileName());
                    boolean built = name.equals("target") || name.startsWith("."); // files come and go there
                    return built && !directory.equals(root) ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    String name = String.valueOf(file.getFileName());
                    if (name.endsWith(suffix) && !name.startsWith(".")) {
                        found.add(file);
                    }
                    return FileVisitResult.CONTINUE;
                }
            });
            found.sort(null);
            return List.copyOf(found);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
