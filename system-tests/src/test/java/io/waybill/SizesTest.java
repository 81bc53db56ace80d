package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How large files and packages of main sources may be, and that no simple name is used twice. */
@Timeout(60)
class SizesTest {

    private static final int MAX_LINES = 400;
    private static final int MAX_TYPES = 25;

    private final Path root = Repository.root();

    @Test
    void noFileIsLong() {
        Map<String, Integer> lines = new TreeMap<>();
        sources().forEach(file -> lines.put(file.getFileName().toString(), lines(file)));
        assertThat(lines).hasSizeGreaterThan(700);
        assertThat(above(lines, MAX_LINES))
                .as("files of more than %s lines", MAX_LINES)
                .isEmpty();
    }

    @Test
    void noPackageIsLarge() {
        Map<String, Integer> types = new TreeMap<>();
        sources().forEach(file -> types.merge(packageOf(file), 1, Integer::sum));
        assertThat(types).hasSizeGreaterThan(50);
        assertThat(above(types, MAX_TYPES))
                .as("packages of more than %s types", MAX_TYPES)
                .isEmpty();
    }

    @Test
    void noSimpleNameIsUsedTwice() {
        Map<String, Path> seen = new HashMap<>();
        Set<String> twice = new TreeSet<>();
        sources().forEach(file -> {
            Path other = seen.put(file.getFileName().toString(), file);
            if (other != null) {
                twice.add(root.relativize(other) + " and " + root.relativize(file));
            }
        });
        assertThat(twice).as("types of one simple name").isEmpty();
    }

    private List<Path> sources() {
        return Repository.sourceDirectories(root).stream()
                .flatMap(directory -> list(directory).stream())
                .filter(file -> file.toString().endsWith(".java"))
                .filter(file -> !file.endsWith("package-info.java"))
                .toList();
    }

    private static Set<String> above(Map<String, Integer> found, int max) {
        Set<String> above = new TreeSet<>();
        found.forEach((name, size) -> {
            if (size > max) {
                above.add(name + " has " + size);
            }
        });
        return above;
    }

    private static String packageOf(Path file) {
        String directory = file.getParent().toString();
        return directory.substring(directory.indexOf("/src/main/java/") + "/src/main/java/".length());
    }

    private static List<Path> list(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int lines(Path file) {
        try (Stream<String> lines = Files.lines(file)) {
            return (int) lines.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
