package io.waybill.bench;

import io.waybill.bench.process.Children;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * An assembled Waybill, from which nodes are started.
 *
 * @param directory with {@code bundles}, {@code lib/native} and {@code examples}
 */
public record BenchDistribution(Path directory) {

    /** The start levels of what the framework itself needs. */
    static final List<String> FRAMEWORK_LEVELS = List.of("1", "2");
    /** The same, libtorch and script-ops. */
    static final List<String> ALL_LEVELS = List.of("1", "2", "5", "10");

    /** The bundle that handles {@code text.count}. */
    Path wordCount() throws IOException {
        return jar("examples", "word-count-");
    }

    /** The profiler's bundle. */
    Path profiler() throws IOException {
        return jar("optional", "profiler-");
    }

    private Path jar(String folder, String prefix) throws IOException {
        try (Stream<Path> jars = Files.list(directory.resolve(folder))) {
            return jars.filter(jar -> jar.getFileName().toString().startsWith(prefix))
                    .findFirst()
                    .orElseThrow(() -> new IOException("expected " + folder + "/" + prefix + "*.jar in " + directory));
        }
    }

    /**
     * Starts a node of a home with the bundles of these start levels, and waits until it serves. Its own files lie
     * beside the home.
     */
    Children.Child startNode(Children children, Path home, List<String> levels) throws IOException {
        Path own = Files.createDirectories(home.resolveSibling(home.getFileName() + "-node"));
        Path bundles = Files.createDirectories(own.resolve("bundles"));
        for (String level : levels) {
            Path target = Files.createDirectories(bundles.resolve(level));
            try (Stream<Path> jars = Files.list(directory.resolve("bundles").resolve(level))) {
                for (Path jar : jars.toList()) {
                    Files.copy(jar, target.resolve(jar.getFileName()));
                }
            }
        }
        return children.start(
                BenchNode.ROLE,
                home,
                bundles,
                Files.createDirectories(own.resolve("node")),
                directory.resolve("lib").resolve("native"));
    }
}
