package io.waybill.conformance.harness;

import io.waybill.conformance.cases.WorkerSpec;
import io.waybill.conformance.worker.WorkerMain;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.stream.Stream;

/**
 * Starts processes of workers: with the libraries and bundles of a distribution, and with nothing of the user's
 * environment.
 *
 * @param distribution an unpacked distribution
 * @param directory for homes, logs, scripts and temporary files
 */
public record WorkerLauncher(Path distribution, Path directory) {

    /** Additional classes of all processes: this module and its JSON library. */
    private static final List<String> OWN_CLASSES = List.of(
            WorkerMain.class.getName(),
            "com.fasterxml.jackson.databind.ObjectMapper",
            "com.fasterxml.jackson.annotation.JsonProperty");

    /** The plugins that a program uses as libraries. A node has them as bundles. */
    private static final List<String> LIBRARIES =
            List.of("io.waybill.torch.LibTorch", "io.waybill.script.ScriptEngine", "io.waybill.autograd.Autograd");

    /** Returns the directory of temporary files of all workers. */
    public Path temporary() {
        return directory.resolve("tmp");
    }

    /** Returns the home of a file's workers. */
    Path home() {
        return directory.resolve("home");
    }

    /** Returns a launcher for the workers of a file, with a home and logs of its own. */
    WorkerLauncher below(String name) throws IOException {
        return new WorkerLauncher(distribution, Files.createDirectories(directory.resolve(name)));
    }

    Process start(WorkerSpec.Kind kind, Path log) throws IOException {
        Files.createDirectories(temporary());
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@conf/jvm.options",
                "@examples/java.options",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx512m",
                "-Duser.home=" + directory,
                "-Djava.io.tmpdir=" + temporary(),
                "-cp",
                classPath(kind),
                WorkerMain.class.getName(),
                distribution.toString(),
                home().toString()));
        Path archives = distribution.resolve("lib/cds");
        Path archive = archives.resolve("java-" + System.getProperty("java.version") + ".jsa");
        Path cache = archives.resolve("java-" + System.getProperty("java.version") + ".aot");
        if (Files.exists(cache)) {
            command.addAll(1, List.of("-XX:AOTCache=" + cache, "-Xlog:cds*=off", "-Xlog:aot*=off"));
        } else if (Files.exists(archive)) {
            command.addAll(1, List.of("-XX:SharedArchiveFile=" + archive, "-Xlog:cds*=off"));
        }
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(distribution.toFile())
                .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
        builder.environment().clear();
        builder.environment().putAll(Map.of("PATH", "/usr/bin:/bin", "HOME", directory.toString()));
        return builder.start();
    }

    /**
     * The distribution's libraries as its command names them, so that a prepared distribution's archive of classes
     * fits.
     */
    private String classPath(WorkerSpec.Kind kind) throws IOException {
        StringJoiner path = new StringJoiner(":");
        try (Stream<Path> libraries = Files.list(distribution.resolve("lib"))) {
            libraries
                    .filter(each -> each.toString().endsWith(".jar"))
                    .sorted()
                    .forEach(each -> path.add(each.toString()));
        }
        List<String> classes = new ArrayList<>(OWN_CLASSES);
        if (kind == WorkerSpec.Kind.AUTOGRAD) {
            classes.addAll(LIBRARIES);
        }
        try {
            for (String each : classes) {
                path.add(Path.of(Class.forName(each)
                                .getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .toURI())
                        .toString());
            }
        } catch (ClassNotFoundException | URISyntaxException e) {
            throw new IllegalStateException(e);
        }
        return path.toString();
    }
}
