package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.Value;
import io.waybill.python.wire.SocketFrame;
import io.waybill.testing.TestBroker;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The memory that processes share with their gateway: it is known by its inode, since a pid is another process's in another pid namespace. */
@Timeout(300)
class MemfdsTest {

    private static final Path PYTHON = Path.of("/usr/bin/python3");
    /** Makes two memfds, prints their descriptors and inodes, and waits until its input ends. */
    private static final String MAKES_MEMFDS = String.join(
            "\n",
            "import os, sys",
            "made = [os.memfd_create(name) for name in ('one', 'other')]",
            "print(*made, *(os.fstat(each).st_ino for each in made), flush=True)",
            "sys.stdin.read()");

    @TempDir
    private Path directory;

    private TestBroker broker;
    private Path socket;

    @BeforeEach
    void start() throws IOException {
        assumeTrue(Files.isExecutable(PYTHON), "there is no " + PYTHON);
        broker = TestBroker.start(directory, Path.of("target/classes"));
        try (Stream<Path> found = Files.find(broker.home(), 3, (path, is) -> path.endsWith("python.sock"))) {
            socket = found.findFirst().orElseThrow();
        }
    }

    @AfterEach
    void stop() throws IOException {
        if (broker != null) {
            broker.close();
        }
    }

    private Value regionsOf(long pid, List<Long> memfds) throws IOException {
        Map<Value, Value> hello = TestProcess.hello("py0");
        hello.put(Value.of("pid"), Value.of(pid));
        hello.put(Value.of("parts"), Value.of(true));
        hello.put(Value.of("out"), Value.of(memfds.get(0)));
        hello.put(Value.of("in"), Value.of(memfds.get(1)));
        hello.put(Value.of("out_inode"), Value.of(memfds.get(2)));
        hello.put(Value.of("in_inode"), Value.of(memfds.get(3)));
        try (TestProcess process = new TestProcess(socket)) {
            process.send(SocketFrame.of(SocketFrame.Kind.HELLO, new Value.Dict(hello)));
            Value.Dict welcome = (Value.Dict) process.read("WELCOME").value();
            assertThat(welcome.entries().get(Value.of("parts")))
                    .as("parts where there are regions, since the pid is right then")
                    .isEqualTo(welcome.entries().get(Value.of("regions")));
            return welcome.entries().get(Value.of("regions"));
        }
    }

    @Test
    void areThoseThatTheProcessMade() throws Exception {
        Process maker = new ProcessBuilder(PYTHON.toString(), "-c", MAKES_MEMFDS).start();
        try {
            String said = maker.inputReader(StandardCharsets.UTF_8).readLine();
            List<Long> made = Stream.of(said.split(" ")).map(Long::parseLong).toList();
            assertThat(regionsOf(maker.pid(), made)).isEqualTo(Value.of(true));
            assertThat(regionsOf(maker.pid(), List.of(made.get(0), made.get(1), made.get(2), made.get(2))))
                    .as("a memfd of the process with this pid, and not of the one that says so")
                    .isEqualTo(Value.of(false));
            assertThat(regionsOf(maker.pid(), List.of(made.get(1), made.get(1), made.get(2), made.get(3))))
                    .isEqualTo(Value.of(false));
            assertThat(regionsOf(maker.pid(), List.of(0L, made.get(1), made.get(2), made.get(3))))
                    .as("a descriptor of something else")
                    .isEqualTo(Value.of(false));
        } finally {
            maker.destroyForcibly();
        }
    }
}
