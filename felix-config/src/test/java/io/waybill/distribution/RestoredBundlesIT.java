package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.distribution.Command.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The bundles for GPUs, of which the one that needs the other has the first name, in nodes that start again and in a replay. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class RestoredBundlesIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final int RESTARTS = 3;

    private final Map<String, String> environment = new HashMap<>();

    @TempDir
    private Path directory;

    private static List<String> words(String... args) {
        List<String> words =
                new ArrayList<>(List.of(DISTRIBUTION.resolve("bin/waybill").toString()));
        words.addAll(List.of(args));
        return words;
    }

    private Result waybill(String... args) throws Exception {
        return Command.run(directory, environment, words(args).toArray(String[]::new));
    }

    private Command startNode() throws Exception {
        Command node = Command.start(directory, environment, words("node", "--name", "ps0", "--shipped", "none"));
        Command.until("the node is ready", () -> node.out().startsWith("ready ps0 id="));
        return node;
    }

    private void assertBothActive() throws Exception {
        assertThat(waybill("bundle", "list", "--node", "ps0").out())
                .containsPattern("io\\.waybill\\.cuda-runtime +\\S+ +handler +active")
                .containsPattern("io\\.waybill\\.cuda-converter +\\S+ +handler +active");
    }

    private void install(String jar) throws Exception {
        Result installed = waybill(
                "bundle", "install", "--node", "ps0", DISTRIBUTION.resolve(jar).toString());
        assertThat(installed.exitCode()).as(installed.err()).isZero();
    }

    @Test
    void areThereWhateverTheirNames() throws Exception {
        environment.putAll(Command.environment(Files.createDirectory(directory.resolve("user"))));
        Path home = directory.resolve("waybill-home");
        environment.put("WAYBILL_HOME", home.toString());
        try (Command node = startNode()) {
            install("optional/cuda-runtime-0.1.0.jar");
            install("optional/cuda-converter-0.1.0.jar");
            install("examples/word-count-1.0.0.jar");
            assertBothActive();
            assertThat(waybill("call", "--to", "ps0", "text.count", "text=to be")
                            .exitCode())
                    .isZero();
            assertThat(node.err()).doesNotContain("waits");
        }
        for (int i = 0; i < RESTARTS; i++) {
            try (Command node = startNode()) {
                assertBothActive();
                assertThat(node.err()).doesNotContain("ready without", "waits");
            }
        }

        Path installed = home.resolve("workers/0-ps0/osgi/installed");
        assertThat(waybill("replay", "--to", "ps0").exitCode()).isZero();
        // a replay without a handler says which bundles are away
        Files.delete(installed.resolve("org.acme.word-count.jar"));
        assertThat(waybill("replay", "--to", "ps0").out())
                .contains("there is no handler for text.count")
                .doesNotContain("does not start");
        Files.delete(installed.resolve("io.waybill.cuda-runtime.jar"));
        assertThat(waybill("replay", "--to", "ps0").out())
                .contains("io.waybill.cuda-converter.jar does not start: ", "needs package jcuda");
    }
}
