package io.waybill.distribution;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Waybill's own artifacts in the layout of a Maven repository: what {@code mvn install} would put into the repository
 * of a user. It has the artifacts that {@code broker-bom} manages, with their sources, and javadoc where the build made
 * it, the BOM, the archetype, and the parent of all.
 */
final class MavenRepository {

    private static final Pattern MANAGED =
            Pattern.compile("<artifactId>([a-z-]+)</artifactId>\\s*<version>\\$\\{project\\.version}</version>");
    private static final List<String> FOLDERS = List.of("", "plugins");
    private static final List<String> JARS = List.of("", "-sources", "-javadoc");

    private final Path root;
    private final String version;

    MavenRepository(Path root, String version) {
        this.root = root;
        this.version = version;
    }

    void writeTo(Path repository) throws IOException {
        Path group = repository.resolve("io/waybill");
        copy(root.resolve("pom.xml"), group, "waybill", ".pom");
        copy(root.resolve("broker-bom/pom.xml"), group, "broker-bom", ".pom");
        for (String artifact : artifacts()) {
            Path module = module(artifact);
            copy(module.resolve("pom.xml"), group, artifact, ".pom");
            for (String kind : JARS) {
                Path jar = module.resolve("target").resolve(artifact + "-" + version + kind + ".jar");
                if (kind.isEmpty() || Files.exists(jar)) {
                    copy(jar, group, artifact, kind + ".jar");
                }
            }
        }
    }

    /** Returns what another project may depend on, and the archetype. */
    private List<String> artifacts() throws IOException {
        List<String> artifacts = new ArrayList<>(List.of("bundle-archetype"));
        MANAGED.matcher(Files.readString(root.resolve("broker-bom/pom.xml")))
                .results()
                .forEach(found -> artifacts.add(found.group(1)));
        return artifacts;
    }

    private Path module(String artifact) throws IOException {
        try (Stream<Path> modules =
                FOLDERS.stream().map(folder -> root.resolve(folder).resolve(artifact))) {
            return modules.filter(module -> Files.exists(module.resolve("pom.xml")))
                    .findFirst()
                    .orElseThrow(
                            () -> new IOException("broker-bom names " + artifact + ", and there is no such module"));
        }
    }

    private void copy(Path file, Path group, String artifact, String ending) throws IOException {
        Path directory = Files.createDirectories(group.resolve(artifact).resolve(version));
        Files.copy(file, directory.resolve(artifact + "-" + version + ending), StandardCopyOption.COPY_ATTRIBUTES);
    }
}
