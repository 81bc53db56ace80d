package io.waybill.distribution;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine;

/** Entry point of the build: makes the parts of the distribution in a directory that the assembly packs. */
public final class Parts {

    private Parts() {}

    /** Takes the root of the checkout, the version, and the directory to fill, which is emptied first. */
    public static void main(String[] args) throws IOException {
        Path root = Path.of(args[0]);
        String version = args[1];
        Path parts = Path.of(args[2]);
        empty(parts);
        new Book(root).writeTo(parts.resolve("share/book"));
        ManPages.writeTo(parts.resolve("share/man/man1"), version);
        new MavenRepository(root, version).writeTo(parts.resolve("repository"));
        Path picocli = jarOf(CommandLine.class);
        RewrittenJar.write(
                picocli, Files.createDirectories(parts.resolve("lib")).resolve(picocli.getFileName()));
    }

    private static Path jarOf(Class<?> type) {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().getPath());
    }

    private static void empty(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        List<Path> deepestFirst;
        try (Stream<Path> files = Files.walk(directory)) {
            deepestFirst = files.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path file : deepestFirst) {
            Files.delete(file);
        }
    }
}
