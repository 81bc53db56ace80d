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

/**
 * How large files and packages of main sources may be, and that no simple name is used twice. What is still larger is listed with its
 * size: it may shrink, and leaves the list when it is small enough.
 */
@Timeout(60)
class SizesTest {

    private static final int MAX_LINES = 400;
    private static final int MAX_TYPES = 25;

    private static final Map<String, Integer> LONGER_FILES = Map.of("Plan.java", 427, "ParameterType.java", 425);

    private static final Map<String, Integer> LARGER_PACKAGES = Map.of(
            "io/waybill/osgi", 38,
            "io/waybill/rref", 41,
            "io/waybill/script", 33,
            "io/waybill/tensor", 37);

    private final Path root = Repository.root();

    @Test
    void noFileIsLong() {
        Map<String, Integer> lines = new TreeMap<>();
        sources().forEach(file -> lines.put(file.getFileName().toString(), lines(file)));
        assertThat(lines).hasSizeGreaterThan(700);
        assertThat(above(lines, MAX_LINES, LONGER_FILES))
                .as(
                        "files of more than %s lines, and listed ones that grew or are small enough to leave the list",
                        MAX_LINES)
                .isEmpty();
    }

    @Test
    void noPackageIsLarge() {
        Map<String, Integer> types = new TreeMap<>();
        sources().forEach(file -> types.merge(packageOf(file), 1, Integer::sum));
        assertThat(types).hasSizeGreaterThan(50);
        assertThat(above(types, MAX_TYPES, LARGER_PACKAGES))
                .as(
                        "packages of more than %s types, and listed ones that grew or are small enough to leave the list",
                        MAX_TYPES)
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

    private static Set<String> above(Map<String, Integer> found, int max, Map<String, Integer> listed) {
        Set<String> above = new TreeSet<>();
        found.forEach((name, size) -> {
            if (size > listed.getOrDefault(name, max)) {
                above.add(name + " has " + size);
            }
        });
        listed.forEach((name, size) -> {
            if (found.getOrDefault(name, 0) <= max) {
                above.add(name + " has " + found.getOrDefault(name, 0) + ", and is listed");
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
