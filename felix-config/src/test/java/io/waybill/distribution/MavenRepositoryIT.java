package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The distribution has Waybill's artifacts as Maven looks for them. */
@Timeout(60)
class MavenRepositoryIT {

    private static final Path GROUP = Path.of(System.getProperty("waybill.test.distribution"), "repository/io/waybill");
    private static final Pattern DEPENDENCY = Pattern.compile("<dependency>(.*?)</dependency>", Pattern.DOTALL);
    private static final Pattern PARENT =
            Pattern.compile("<parent>\\s*<groupId>io\\.waybill</groupId>\\s*<artifactId>([a-z-]+)<");
    private static final Pattern OURS = Pattern.compile("<groupId>io\\.waybill</groupId>\\s*<artifactId>([a-z-]+)<");

    @Test
    void hasAJarWithSourcesOfEachArtifactThatTheBomManages() throws IOException {
        for (String artifact : ours("broker-bom")) {
            List<String> sources = entries(file(artifact, "-sources.jar"));
            List<String> classes = entries(file(artifact, ".jar"));
            List<String> without = classes.stream()
                    .filter(entry ->
                            entry.startsWith("io/waybill/") && entry.endsWith(".class") && !entry.contains("$"))
                    .map(entry -> entry.replaceFirst("class$", "java"))
                    .filter(entry -> !sources.contains(entry))
                    .toList();
            assertThat(without).as("sources of %s", artifact).isEmpty();
        }
        assertThat(ours("broker-bom")).contains("broker-api", "broker-core", "broker-testing", "autograd");
    }

    @Test
    void hasJavadocOfWhatOthersCompileAgainst() throws IOException {
        assertThat(entries(file("broker-api", "-javadoc.jar"))).contains("io/waybill/api/Message.html");
        assertThat(entries(file("broker-core", "-javadoc.jar"))).contains("io/waybill/worker/Waybill.html");
        assertThat(entries(file("broker-testing", "-javadoc.jar"))).contains("io/waybill/testing/TestBroker.html");
        assertThat(entries(file("autograd", "-javadoc.jar"))).contains("io/waybill/autograd/DistAutograd.html");
    }

    @Test
    void hasWhatItsPomsNeedOfItself() throws IOException {
        assertThat(file("waybill", ".pom")).exists();
        assertThat(entries(file("bundle-archetype", ".jar"))).contains("META-INF/maven/archetype-metadata.xml");
        Set<String> there;
        try (Stream<Path> artifacts = Files.list(GROUP)) {
            there = artifacts.map(path -> path.getFileName().toString()).collect(Collectors.toSet());
        }
        for (String artifact : there) {
            if (!artifact.equals("waybill")) { // which manages what is not here, too
                assertThat(there).as("what %s needs", artifact).containsAll(ours(artifact));
            }
            PARENT.matcher(Files.readString(file(artifact, ".pom")))
                    .results()
                    .forEach(parent -> assertThat(there)
                            .as("with the parent of %s", artifact)
                            .contains(parent.group(1)));
        }
    }

    /** Returns our artifacts that a pom names as dependencies of programs, not of tests. */
    private static List<String> ours(String artifact) throws IOException {
        List<String> ours = new ArrayList<>();
        DEPENDENCY.matcher(Files.readString(file(artifact, ".pom"))).results().forEach(dependency -> {
            if (!dependency.group(1).contains("<scope>test</scope>")) {
                OURS.matcher(dependency.group(1)).results().forEach(found -> ours.add(found.group(1)));
            }
        });
        return ours;
    }

    private static Path file(String artifact, String ending) {
        return GROUP.resolve(artifact).resolve("0.1.0").resolve(artifact + "-0.1.0" + ending);
    }

    private static List<String> entries(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.stream().map(JarEntry::getName).toList();
        }
    }
}
