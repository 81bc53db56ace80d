package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The page about threads names each class that starts one. */
@Timeout(60)
class ThreadTableTest {

    private static final String PAGE = "docs/hacking/threads.md";
    private static final Pattern START =
            Pattern.compile("new (Agent)?Thread\\(|[tT]hreads(\\(\\))?\\s*\\.start(WhenPossible)?\\(");
    private static final Pattern COMMENT = Pattern.compile("(?m)^\\s*(\\*|//|/\\*).*$");

    /** How all others start theirs, and modules that are no part of a node or a program. */
    private static final Set<String> NOT_LISTED =
            Set.of("io.waybill.host.Threads", "io.waybill.host.HostThreads", "io.waybill.host.agent.AgentThread");

    private static final List<String> OTHER_MODULES = List.of("benchmarks", "conformance", "broker-testing", "target");

    private final Path root = Repository.root();

    @Test
    void namesEachClassThatStartsOne() throws IOException {
        String page = Files.readString(root.resolve(PAGE));
        List<String> starting = starting();
        assertThat(starting.size()).isGreaterThan(35);
        assertThat(starting)
                .as("classes that start a thread, each with a row in %s", PAGE)
                .allMatch(name -> Pattern.compile(Pattern.quote(name) + "\\b")
                        .matcher(page)
                        .find());
    }

    @Test
    void findsStartsInCodeAlone() {
        assertThat(startsIn("    threads.start(name, body);")).isTrue();
        assertThat(startsIn("    host\n        .threads()\n        .startWhenPossible(name, body);"))
                .isTrue();
        assertThat(startsIn("    this.thread = new Thread(this::run);")).isTrue();
        assertThat(startsIn("    new AgentThread(name, this, idle);")).isTrue();
        assertThat(startsIn("    // threads.start(name, body)")).isFalse();
        assertThat(startsIn("     * calls threads.start(name, body)")).isFalse();
        assertThat(startsIn("    process.start();")).isFalse();
    }

    private List<String> starting() throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(file -> isMain(root.relativize(file).toString()))
                    .filter(file -> startsIn(read(file)))
                    .map(file -> file.toString()
                            .replaceAll(".*/src/main/java/", "")
                            .replaceAll("\\.java$", "")
                            .replace('/', '.'))
                    .filter(name -> !NOT_LISTED.contains(name))
                    .sorted()
                    .toList();
        }
    }

    private static boolean isMain(String file) {
        return file.endsWith(".java")
                && file.contains("src/main/java/io/waybill/")
                && OTHER_MODULES.stream()
                        .noneMatch(module -> file.startsWith(module + "/") || file.contains("/" + module + "/"));
    }

    private static boolean startsIn(String source) {
        return START.matcher(COMMENT.matcher(source).replaceAll("")).find();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
