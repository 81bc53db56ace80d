package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.testing.TestBroker;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What clients say of themselves when they join, and others find in the list of workers. */
@Timeout(300)
class MembersTest {

    private static final Value RANK = new Value.Dict(Map.of(Value.of("rank"), Value.of(1)));

    @TempDir
    private Path directory;

    private TestBroker broker;
    private Path socket;

    @BeforeEach
    void start() throws IOException {
        broker = TestBroker.start(directory, Path.of("target/classes"));
        try (Stream<Path> found = Files.find(broker.home(), 3, (path, is) -> path.endsWith("python.sock"))) {
            socket = found.findFirst().orElseThrow();
        }
    }

    @AfterEach
    void stop() throws IOException {
        broker.close();
    }

    private TestProcess member(String name, Value says) throws IOException {
        Map<Value, Value> hello = TestProcess.hello(name);
        hello.put(Value.of("member"), says);
        return TestProcess.joined(socket, hello);
    }

    /** Returns what the list of workers has of one; empty when it has no such field. */
    private static Optional<Value> shown(TestProcess to, String name) throws Exception {
        to.call(1, 0, "", MessageType.NAMED_CALL, new Invocation("gateway.workers", List.of(), Map.of()));
        Value.Dict response = (Value.Dict) to.value(to.read());
        Value.Items workers = (Value.Items) response.entries().get(Value.of("workers"));
        return workers.values().stream()
                .map(each -> ((Value.Dict) each).entries())
                .filter(each -> each.get(Value.of("name")).equals(Value.of(name)))
                .flatMap(each -> Stream.ofNullable(each.get(Value.of("member"))))
                .findFirst();
    }

    @Test
    void isShownToAllUntilTheyLeave() throws Exception {
        try (TestProcess other = TestProcess.joined(socket, "other")) {
            try (TestProcess one = member("one", RANK)) {
                assertThat(shown(one, "one")).contains(RANK);
                Waits.until(
                        "it is shown to another one", () -> shown(other, "one").isPresent());
                assertThat(shown(other, "one")).contains(RANK);
                assertThat(shown(other, "other")).isEmpty();
                Map<String, Value> fields =
                        Map.of("workers", new Value.Items(List.of(Value.of("one"))), "limit_ms", Value.of(0));
                one.call(2, 0, "", MessageType.NAMED_CALL, new Invocation("gateway.shutdown", List.of(), fields));
                one.value(one.read());
                assertThat(shown(other, "one"))
                        .as("of one that has begun to leave with its group")
                        .isEmpty();
            }
        }
    }

    @Test
    void endsWithTheProcess() throws Exception {
        member("one", RANK).close();
        try (TestProcess again = TestProcess.joined(socket, "one")) {
            assertThat(shown(again, "one"))
                    .as("of an earlier process that was killed")
                    .isEmpty();
        }
    }

    @Test
    void isNothingWhenItIsDamaged() throws Exception {
        try (TestProcess one = member("one", RANK)) {
            Path file;
            try (Stream<Path> found = Files.find(broker.home(), 3, (path, is) -> path.endsWith("python.member"))) {
                file = found.findFirst().orElseThrow();
            }
            byte[] whole = Files.readAllBytes(file);
            for (byte[] damaged : List.of(new byte[0], new byte[] {77}, new byte[10_000], "no value".getBytes())) {
                Files.write(file, damaged);
                assertThat(shown(one, "one")).isEmpty();
            }
            Files.write(file, whole);
            assertThat(shown(one, "one")).contains(RANK);
        }
    }

    @Test
    void isRefusedWhenItIsLongOrNoDict() {
        Value large = new Value.Dict(Map.of(Value.of("text"), Value.of("x".repeat(5_000))));
        assertThatThrownBy(() -> member("one", large)).hasMessageContaining("at most 4096 bytes, and not 50");
        assertThatThrownBy(() -> member("two", Value.of(1))).hasMessageContaining("member in HELLO is a dict");
    }
}
