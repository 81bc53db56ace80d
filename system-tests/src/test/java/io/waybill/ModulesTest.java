package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * How large modules are, and what they show each other. {@code seen.types} lists the types that main code of another module uses; all others are
 * internal to their module, whether {@code public} or not. {@code docs/adr/0170-parts-of-the-core-are-modules.md} says why.
 */
@Timeout(120)
class ModulesTest {

    private static final String MAIN = "/src/main/java/";
    private static final Pattern IMPORT = Pattern.compile("(?m)^import (?:static )?(io\\.waybill[a-z.]*\\.[A-Z]\\w*)");
    private static final int MAX_CODE_LINES = 15_000;
    private static final int MAX_SEEN_PERCENT = 45;

    /** Modules for others: what they have, others see. */
    private static final Set<String> FOR_OTHERS = Set.of("broker-api", "broker-testing-core", "broker-testing");

    private static final String FILE = "system-tests/src/test/resources/io/waybill/seen.types";
    private static final String ACCEPT = "waybill.modules.accept";

    private static final Map<String, String> MODULE_OF_TYPE = new TreeMap<>();
    private static final Map<String, Integer> CODE_LINES = new TreeMap<>();
    private static final Map<String, Set<String>> IMPORTS = new TreeMap<>();
    private static Path root;

    @BeforeAll
    static void read() throws IOException {
        root = Repository.root();
        for (Path file : Repository.files(root, ".java")) {
            String path = root.relativize(file).toString();
            int main = path.indexOf(MAIN);
            if (main > 0 && !path.startsWith("examples/") && !path.endsWith("package-info.java")) {
                String module = path.substring(0, main);
                String type = path.substring(main + MAIN.length(), path.length() - ".java".length());
                MODULE_OF_TYPE.put(type.replace('/', '.'), module);
                CODE_LINES.merge(module, codeLines(file), Integer::sum);
                IMPORTS.computeIfAbsent(module, each -> new TreeSet<>()).addAll(imports(file));
            }
        }
    }

    @Test
    void noModuleIsHuge() {
        assertThat(CODE_LINES).hasSizeGreaterThan(20);
        Map<String, Integer> huge = new TreeMap<>(CODE_LINES);
        huge.values().removeIf(lines -> lines <= MAX_CODE_LINES);
        assertThat(huge)
                .as("modules of more than %s lines of code, without comments", MAX_CODE_LINES)
                .isEmpty();
    }

    @Test
    void noPackageIsInTwoModules() {
        Map<String, Set<String>> modules = new TreeMap<>();
        MODULE_OF_TYPE.forEach((type, module) -> modules.computeIfAbsent(
                        type.substring(0, Math.max(0, type.lastIndexOf('.'))), each -> new TreeSet<>())
                .add(module));
        modules.values().removeIf(in -> in.size() == 1);
        assertThat(modules).as("packages in several modules").isEmpty();
    }

    @Test
    void modulesSeeOnlyWhatIsListed() throws IOException {
        Set<String> seen = seenTypes();
        Path file = root.resolve(FILE);
        if (Boolean.getBoolean(ACCEPT)) {
            Files.write(file, seen);
        }
        Set<String> listed = new TreeSet<>(Files.readAllLines(file));
        assertThat(without(seen, listed))
                .as(
                        "types that main code of another module uses, and that are not in %s. To make them visible, run%n"
                                + "    mvn -q -pl system-tests test -Dtest=ModulesTest -D%s=true",
                        FILE, ACCEPT)
                .isEmpty();
        assertThat(without(listed, seen))
                .as("types in %s that no other module uses", FILE)
                .isEmpty();
    }

    @Test
    void mostTypesAreSeenByTheirModuleAlone() throws IOException {
        long all = MODULE_OF_TYPE.values().stream()
                .filter(module -> !FOR_OTHERS.contains(module))
                .count();
        long seen = Files.readAllLines(root.resolve(FILE)).size();
        assertThat(100 * seen / all)
                .as("percent of the %s types outside of %s that another module may see", all, new TreeSet<>(FOR_OTHERS))
                .isLessThan(MAX_SEEN_PERCENT);
    }

    /** By their imports, which is exact: only names of the API are written with their packages, and no package is in two modules. */
    private static Set<String> seenTypes() {
        Set<String> seen = new TreeSet<>();
        IMPORTS.forEach((module, types) -> {
            for (String type : types) {
                String owner = MODULE_OF_TYPE.get(type);
                if (owner != null && !owner.equals(module) && !FOR_OTHERS.contains(owner)) {
                    seen.add(type);
                }
            }
        });
        return seen;
    }

    private static Set<String> without(Set<String> all, Set<String> some) {
        Set<String> rest = new TreeSet<>(all);
        rest.removeAll(some);
        return rest;
    }

    private static Set<String> imports(Path file) throws IOException {
        Set<String> types = new TreeSet<>();
        Matcher matcher = IMPORT.matcher(Files.readString(file));
        while (matcher.find()) {
            types.add(matcher.group(1));
        }
        return types;
    }

    private static int codeLines(Path file) throws IOException {
        int lines = 0;
        boolean comment = false;
        for (String line : Files.readAllLines(file)) {
            String text = line.strip();
            comment |= text.startsWith("/*");
            if (!comment && !text.isEmpty() && !text.startsWith("//")) {
                lines++;
            }
            comment &= !text.contains("*/");
        }
        return lines;
    }
}
