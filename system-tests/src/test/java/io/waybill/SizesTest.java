package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.waybill.SourceSizes.Sized;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * How large main code is: values that may only fall, in {@code sizes.properties}, and bounds far above against accidents. And that no simple name
 * is used twice.
 */
@Timeout(60)
class SizesTest {

    private static final int MAX_LINES = 800;
    private static final int MAX_TYPES = 45;

    private static final String FILE = "system-tests/sizes.properties";
    private static final String ACCEPT = "waybill.sizes.accept";

    private static Path root;
    private static SourceSizes sizes;

    @BeforeAll
    static void measure() throws Exception {
        root = Repository.root();
        sizes = SourceSizes.of(root);
    }

    @Test
    void sizesOnlyFall() throws Exception {
        Ratchet ratchet = new Ratchet(sizes);
        Path file = root.resolve(FILE);
        if (Boolean.getBoolean(ACCEPT)) {
            Files.writeString(file, ratchet.text());
        }
        Properties checkedIn = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            checkedIn.load(reader);
        }
        List<String> problems = ratchet.problems(checkedIn, ChangedPaths.since(root, FILE)::contains);
        if (!problems.isEmpty()) {
            fail(
                    "%n  %s%n%nShorten what grew. To write a lower value to %s, or a higher one whose reason the commit says, run%n"
                            + "    mvn -q -pl system-tests test -Dtest=SizesTest -D%s=true",
                    String.join(System.lineSeparator() + "  ", problems), FILE, ACCEPT);
        }
    }

    @Test
    void noFileIsHuge() {
        assertThat(sizes.files()).hasSizeGreaterThan(700);
        assertThat(above(sizes.files(), MAX_LINES))
                .as("files of more than %s lines", MAX_LINES)
                .isEmpty();
    }

    @Test
    void noPackageIsHuge() {
        assertThat(sizes.packages()).hasSizeGreaterThan(50);
        assertThat(above(sizes.packages(), MAX_TYPES))
                .as("packages of more than %s types", MAX_TYPES)
                .isEmpty();
    }

    @Test
    void noSimpleNameIsUsedTwice() {
        Map<String, String> seen = new HashMap<>();
        Set<String> twice = new TreeSet<>();
        for (Sized file : sizes.files()) {
            String other = seen.put(file.name(), file.path());
            if (other != null) {
                twice.add(other + " and " + file.path());
            }
        }
        assertThat(twice).as("types of one simple name").isEmpty();
    }

    private static List<Sized> above(List<Sized> found, int max) {
        return found.stream().filter(each -> each.size() > max).toList();
    }
}
