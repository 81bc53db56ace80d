package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Which plugins and examples use each package of the API, in main code. {@code docs/adr/0046-api-baseline.md} says why
 * its version depends on that.
 */
@Timeout(60)
class ApiUsersTest {

    private static final String API = "broker-api/src/main/java/io/waybill/";
    private static final Pattern VERSION = Pattern.compile("@Version\\(\"(\\d+)\\.(\\d+)\\.\\d+\"\\)");
    private static final Pattern IMPORT =
            Pattern.compile("(?m)^import (?:static )?io\\.waybill\\.(api[a-z.]*)\\.[A-Z]");

    private static final Map<String, TreeSet<String>> USERS = new TreeMap<>();
    private static final Map<String, String> VERSIONS = new TreeMap<>();
    private static Path root;

    @BeforeAll
    static void read() throws IOException {
        root = Repository.root();
        for (Path file : Repository.files(root, ".java")) {
            String path = root.relativize(file).toString();
            if (path.startsWith(API) && path.endsWith("package-info.java")) {
                String name =
                        path.substring(API.length(), path.lastIndexOf('/')).replace('/', '.');
                Matcher version = VERSION.matcher(Files.readString(file));
                assertThat(version.find()).as("a version in %s", path).isTrue();
                VERSIONS.put(name, version.group(1) + "." + version.group(2));
                USERS.computeIfAbsent(name, each -> new TreeSet<>());
            } else if (path.matches("(plugins|examples)/.*") && !path.contains("/src/test/")) {
                String user = path.split("/")[1];
                Matcher matcher = IMPORT.matcher(Files.readString(file));
                while (matcher.find()) {
                    USERS.computeIfAbsent(matcher.group(1), each -> new TreeSet<>())
                            .add(user);
                }
            }
        }
    }

    @Test
    void packagesAt1HaveTwoUsers() {
        assertThat(VERSIONS).hasSizeGreaterThan(10);
        List<String> wrong = new ArrayList<>();
        VERSIONS.forEach((name, version) -> {
            if (version.startsWith("0.") == USERS.get(name).size() >= 2) {
                wrong.add(name + " is at " + version + ", and used by " + USERS.get(name));
            }
        });
        assertThat(wrong)
                .as("packages of the API: at 1.0 or above with two plugins or examples that use them, else below")
                .isEmpty();
    }

    @Test
    void pageListsTheUsersOfEachPackage() throws IOException {
        String page = Files.readString(root.resolve("docs/extending/services.md"));
        List<String> rows = VERSIONS.entrySet().stream()
                .map(each -> "| `io.waybill." + each.getKey() + "` | " + each.getValue() + " | "
                        + USERS.get(each.getKey()).stream().limit(3).collect(Collectors.joining(", ")) + " |")
                .filter(row -> !page.contains(row))
                .toList();
        assertThat(rows)
                .as(
                        "rows that docs/extending/services.md lacks: package, version, the first three plugins and examples that use it")
                .isEmpty();
    }
}
