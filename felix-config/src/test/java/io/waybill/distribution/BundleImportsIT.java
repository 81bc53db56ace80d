package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What the bundles of the distribution import of the API. A bundle that implements an interface which is annotated as the broker's own
 * ({@code @ProviderType}) imports the package up to the next minor version only, and that version of the node refuses it.
 */
@Timeout(60)
class BundleImportsIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));

    private static final Pattern IMPORT =
            Pattern.compile("(io\\.waybill\\.api[a-z.]*);version=\"\\[(\\d+)\\.\\d+,(\\d+)(?:\\.(\\d+))?\\)\"");

    @Test
    void reachToTheNextMajorVersion() throws IOException {
        List<String> all = new ArrayList<>();
        List<String> narrow = new ArrayList<>();
        try (Stream<Path> files = Files.walk(DISTRIBUTION.resolve("bundles"))) {
            for (Path jar :
                    files.filter(file -> file.toString().endsWith(".jar")).toList()) {
                Matcher found = IMPORT.matcher(imports(jar));
                while (found.find()) {
                    String line = jar.getFileName() + ": " + found.group();
                    all.add(line);
                    boolean isMajor = Integer.parseInt(found.group(3)) == Integer.parseInt(found.group(2)) + 1
                            && (found.group(4) == null || found.group(4).equals("0"));
                    if (!isMajor) {
                        narrow.add(line);
                    }
                }
            }
        }
        assertThat(all).as("imports of the API").hasSizeGreaterThan(10);
        assertThat(narrow)
                .as("bundles that implement what is @ProviderType: annotate it with @ConsumerType")
                .isEmpty();
    }

    private static String imports(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            String header = file.getManifest().getMainAttributes().getValue("Import-Package");
            return header == null ? "" : header;
        }
    }
}
