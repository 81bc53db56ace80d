package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The projects that authors of bundles start from, which have no parent, build with the versions that this repository builds with: where it was built,
 * they build offline.
 */
@Timeout(60)
class TemplatesTest {

    private static final String ARCHETYPE = "bundle-archetype/src/main/resources/archetype-resources/";
    private static final Pattern VERSION =
            Pattern.compile("<artifactId>([^<]+)</artifactId>\\s*<version>([^<]+)</version>");
    private static final Pattern PROPERTY = Pattern.compile("<([a-z.-]+)>([^<]*)</\\1>");
    private static final Pattern REFERENCE = Pattern.compile("(?:\\$\\{|@)([a-z.-]+)[}@]");

    private final Path root = Repository.root();

    @ParameterizedTest
    @ValueSource(strings = {ARCHETYPE + "pom.xml", "examples/word-count/pom.xml", "examples/orders/pom.xml"})
    void usesTheVersionsOfTheRepository(String template) throws IOException {
        Map<String, String> expected = versions("pom.xml");
        Map<String, String> found = versions(template);
        found.keySet().removeIf(artifact -> !expected.containsKey(artifact));
        assertThat(found).containsKeys("broker-api", "maven-compiler-plugin", "maven-jar-plugin", "bnd-maven-plugin");
        assertThat(expected)
                .as("versions in pom.xml, against those in %s", template)
                .containsAllEntriesOf(found);
    }

    /** In a project that is generated, a line that begins with two of them would be gone. */
    @Test
    void hasNoHeadingsThatVelocityTakesForComments() throws IOException {
        assertThat(Repository.files(root.resolve(ARCHETYPE), ""))
                .isNotEmpty()
                .allSatisfy(file -> assertThat(Files.readString(file)).doesNotContain("##", "#set", "#if"));
    }

    /** Plugins and libraries with the versions that a pom gives them; the first of each. */
    private Map<String, String> versions(String pom) throws IOException {
        String text = Files.readString(root.resolve(pom));
        Map<String, String> properties = new TreeMap<>();
        properties.put("project.version", "0.1.0");
        each(PROPERTY, Files.readString(root.resolve("pom.xml")), properties);
        each(PROPERTY, text, properties);
        Map<String, String> versions = new TreeMap<>();
        each(VERSION, text, versions);
        versions.replaceAll((artifact, version) -> resolved(version, properties));
        return versions;
    }

    private static void each(Pattern pattern, String text, Map<String, String> into) {
        Matcher matcher = pattern.matcher(text);
        while (matcher.find()) {
            into.putIfAbsent(matcher.group(1), matcher.group(2));
        }
    }

    private static String resolved(String version, Map<String, String> properties) {
        String resolved = version;
        for (int depth = 0; depth < 3; depth++) {
            resolved =
                    REFERENCE.matcher(resolved).replaceAll(found -> Matcher.quoteReplacement(value(found, properties)));
        }
        return resolved;
    }

    private static String value(MatchResult found, Map<String, String> properties) {
        return properties.getOrDefault(found.group(1), found.group());
    }
}
