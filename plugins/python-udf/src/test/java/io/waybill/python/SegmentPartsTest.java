package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.testing.TestBroker;
import io.waybill.testing.core.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Large buffers, which Python processes use where they lie in segments. */
@Timeout(300)
class SegmentPartsTest {

    private static final Path PYTHON = Path.of("/usr/bin/python3");
    private static final Path PACKAGE = Path.of("../../clients/python");
    private static final long SEGMENT_BYTES = 64L << 20;

    @TempDir
    private Path directory;

    private final Map<String, Process> processes = new HashMap<>();
    private final Map<String, BufferedReader> responses = new HashMap<>();
    private TestBroker broker;

    @BeforeEach
    void start() throws IOException {
        assumeTrue(Files.isExecutable(PYTHON), "there is no " + PYTHON);
        broker = TestBroker.start(directory, Path.of("target/classes"));
        for (String name : new String[] {"sender", "holder", "other"}) {
            join(name);
        }
    }

    private void join(String name) throws IOException {
        String first = start(name);
        assumeTrue(!first.equals("impossible"), "the kernel is older than 5.14");
        assertThat(first).isEqualTo("ready");
    }

    /** Returns the first line of a process. */
    private String start(String name) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(PYTHON.toString(), "src/test/python/holds_parts.py", name);
        builder.redirectErrorStream(true);
        builder.environment()
                .put("PYTHONPATH", PACKAGE.toAbsolutePath().normalize().toString());
        builder.environment().put("WAYBILL_HOME", broker.home().toString());
        Process process = builder.start();
        processes.put(name, process);
        responses.put(name, process.inputReader());
        return String.valueOf(responses.get(name).readLine());
    }

    @AfterEach
    void stop() throws IOException {
        processes.values().forEach(Process::destroyForcibly);
        if (broker != null) {
            broker.close();
        }
    }

    private String ask(String name, String command) throws IOException {
        Writer to = processes.get(name).outputWriter();
        to.write(command + "\n");
        to.flush();
        return responses.get(name).readLine();
    }

    private long segmentBytes(String name) throws IOException {
        try (Stream<Path> files = Files.find(
                broker.home(),
                4,
                (path, is) -> path.toString().endsWith(".seg")
                        && path.getParent().getParent().toString().endsWith("-" + name))) {
            return files.mapToLong(path -> path.toFile().length()).sum();
        }
    }

    private void awaitGone(String name) throws IOException {
        Waits.until(name + " has left the home", () -> {
            String said = ask("sender", "send " + name + " 9 1 drop");
            return said == null || said.contains("failed");
        });
    }

    /** The thread that ran the call drops what it got after the response has left. */
    private void awaitLetGo() throws IOException {
        Waits.until("the callee lets go", () -> ask("holder", "mapped").equals("0 mapped"));
    }

    @Test
    void areReadAndWrittenInPlaceAndGivenBack() throws IOException {
        for (int i = 1; i <= 20; i++) { // too large for the archive, which would keep them for a moment
            assertThat(ask("sender", "send holder " + i + " 20 drop"))
                    .isEqualTo("20971520 bytes of [" + i + "] 1 mapped");
            awaitLetGo();
        }
        assertThat(ask("sender", "echo holder 5 20"))
                .as("what the callee writes is its own, and goes back")
                .isEqualTo("20971520 bytes of [5, 77] was 20971520 bytes of [5]");
        awaitLetGo();
        assertThat(segmentBytes("sender")).as("of 440 MB that were sent").isBetween(SEGMENT_BYTES, 2 * SEGMENT_BYTES);
        assertThat(segmentBytes("holder")).as("of 20 MB that were sent").isEqualTo(SEGMENT_BYTES);
    }

    @Test
    void areSentWithoutACopyFromABuffer() throws IOException {
        assertThat(ask("sender", "buffer 40")).isEqualTo("41943040 bytes of [0]");
        for (int i = 1; i <= 10; i++) {
            assertThat(ask("sender", "again holder " + i)).isEqualTo("41943040 bytes of [" + i + "] 1 mapped");
            awaitLetGo();
        }
        assertThat(segmentBytes("sender"))
                .as("one region is sent again and again")
                .isEqualTo(SEGMENT_BYTES);
        ask("sender", "nobuffer");
        for (int i = 0; i < 4; i++) {
            assertThat(ask("sender", "send holder 7 40 drop")).startsWith("41943040 bytes of [7]");
        }
        assertThat(segmentBytes("sender")).as("its region was used again").isLessThanOrEqualTo(2 * SEGMENT_BYTES);
    }

    @Test
    void areTheProcessesOwnWhenTheyAreKept() throws IOException {
        for (int i = 1; i <= 6; i++) {
            assertThat(ask("sender", "send holder " + i + " 48 keep")).endsWith("1 mapped");
            awaitLetGo();
        }
        assertThat(segmentBytes("sender"))
                .as("six were sent, each of which needs a segment")
                .isLessThanOrEqualTo(3 * SEGMENT_BYTES);
        assertThat(ask("holder", "held")).isEqualTo(held(6));
    }

    private static String held(int count) {
        return IntStream.rangeClosed(1, count)
                .mapToObj(i -> "50331648 bytes of [" + i + "]")
                .collect(Collectors.joining(", "));
    }

    @Test
    void areTheProcessesOwnAfterItHasLeft() throws IOException {
        ask("holder", "keep");
        for (int i = 1; i <= 6; i++) {
            assertThat(ask("sender", "send holder " + i + " 48 keep")).endsWith(i + " mapped");
        }
        assertThat(ask("holder", "leave")).isEqualTo("left");
        awaitGone("holder");
        assertThat(ask("holder", "mapped")).isEqualTo("0 mapped");
        ask("other", "keep");
        for (int i = 1; i <= 6; i++) {
            assertThat(ask("sender", "send other 9 48 keep")).endsWith(i + " mapped");
        }
        assertThat(ask("holder", "held")).isEqualTo(held(6));
        assertThat(segmentBytes("sender")).as("the regions were used again").isLessThanOrEqualTo(7 * SEGMENT_BYTES);
    }

    @Test
    void areNotWrittenAgainWhileAProcessHasThemWhoseWorkerIsGone() throws IOException {
        ask("holder", "late");
        assertThat(ask("sender", "send holder 1 48 keep")).endsWith("1 mapped");
        assertThat(ask("holder", "cut")).isEqualTo("cut");
        awaitGone("holder");
        ask("other", "keep"); // so that each is sent from another region
        for (int i = 1; i <= 6; i++) {
            assertThat(ask("sender", "send other 2 48 keep")).isEqualTo("50331648 bytes of [2] " + i + " mapped");
        }
        assertThat(ask("holder", "held"))
                .as("the sender asks the system who uses the region")
                .isEqualTo(held(1));
        assertThat(ask("holder", "drop")).endsWith("0 mapped");
    }

    @Test
    void areGivenBackByAProcessThatIsKilled() throws IOException {
        for (int i = 0; i < 4; i++) {
            ask("holder", "keep");
            assertThat(ask("sender", "send holder 1 64 keep")).endsWith("1 mapped");
            processes.get("holder").destroyForcibly().onExit().join();
            Waits.until("the name is free", () -> start("holder").equals("ready"));
        }
        assertThat(segmentBytes("sender"))
                .as("the killed processes' regions were used again")
                .isBetween(SEGMENT_BYTES, 3 * SEGMENT_BYTES);
    }

    @Test
    void areGivenBackByAProcessOfThePoolThatEnds() throws IOException {
        String path = PACKAGE.toAbsolutePath().normalize() + ":"
                + Path.of("src/test/python").toAbsolutePath();
        broker.configure("io.waybill.python", Map.of("interpreter", PYTHON.toString(), "path", path));
        PoolReadiness.await(broker);
        processes.get("sender").destroyForcibly().onExit().join(); // its gateway has ended
        Waits.until("the sender has joined again", () -> start("sender").equals("ready"));
        for (int i = 0; i < 6; i++) {
            assertThat(ask("sender", "die 48")).contains("WORKER_LOST");
        }
        assertThat(segmentBytes("sender"))
                .as("six were sent, each of which needs a segment")
                .isLessThanOrEqualTo(3 * SEGMENT_BYTES);
    }
}
