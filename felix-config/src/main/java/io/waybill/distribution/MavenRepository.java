package io.waybill.distribution;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Waybill's own artifacts in the layout of a Maven repository: what {@code mvn install} would put into the repository
 * of a user. It has the artifacts that {@code broker-bom} manages, with their sources, and javadoc where the build made
 * it, the BOM, the archetype, and the parents.
 */
final class MavenRepository {

    private static final Pattern MANAGED =
            Pattern.compile("<artifactId>([a-z-]+)</artifactId>\\s*<version>\\$\\{project\\.version}</version>");
    private static final String PARTS = "broker-core";
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
        copy(root.resolve(PARTS).resolve("pom.xml"), group, "broker-core-parent", ".pom");
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
        Pattern own = Pattern.compile("</parent>\\s*<artifactId>" + artifact + "</artifactId>");
        for (String folder : List.of("", "plugins", PARTS)) {
            try (DirectoryStream<Path> modules = Files.newDirectoryStream(root.resolve(folder), Files::isDirectory)) {
                for (Path module : modules) {
                    Path pom = module.resolve("pom.xml");
                    if (Files.exists(pom) && own.matcher(Files.readString(pom)).find()) {
                        return module;
                    }
                }
            }
        }
        throw new IOException("broker-bom names " + artifact + ", and there is no such module");
    }

    private void copy(Path file, Path group, String artifact, String ending) throws IOException {
        Path directory = Files.createDirectories(group.resolve(artifact).resolve(version));
        Files.copy(file, directory.resolve(artifact + "-" + version + ending), StandardCopyOption.COPY_ATTRIBUTES);
    }
}
