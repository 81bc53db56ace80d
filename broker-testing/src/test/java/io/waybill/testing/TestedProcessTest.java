package io.waybill.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Delivery;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.testing.good.Count;
import io.waybill.testing.keeping.Tally;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers in processes of their own, which a test kills and starts again. */
@Timeout(value = 240, unit = TimeUnit.SECONDS)
class TestedProcessTest {

    private static final String BACKEND = "backend";

    @TempDir
    Path directory;

    private final Semaphore begun = new Semaphore(0); // one permit for each request that began at the backend
    private TestBroker broker;

    @BeforeEach
    void start() throws Exception {
        Path bundle = PackedBundles.of(Count.class, "1.0.0", directory);
        broker = TestBroker.start(Files.createDirectory(directory.resolve("broker")), bundle);
        broker.handle(TestBroker.CALLER, "test.begun", (message, outbox) -> {
            begun.release();
            outbox.respond(Value.of(true));
        });
    }

    @AfterEach
    void close() throws Exception {
        broker.close();
    }

    /** Tells the test that a request began, and never responds to it; but responds if it was begun before. */
    public static class Unanswered implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) {
            if (message.isRedelivery()) {
                outbox.respond(Value.of("begun before"));
                return;
            }
            outbox.caller()
                    .call(Request.operation(TestBroker.CALLER, "test.begun"))
                    .close();
            outbox.later();
        }
    }

    /** The same, and may begin again. */
    @Delivery(Delivery.AT_LEAST_ONCE)
    private static final class Repeated extends Unanswered {}

    /** Responds with the id of its process. */
    private static final class Pid implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) {
            outbox.respond(Value.of(ProcessHandle.current().pid()));
        }
    }

    private CompletableFuture<Response> begin(String operation) throws InterruptedException {
        CompletableFuture<Response> call = broker.caller().callAsync(Request.operation(BACKEND, operation));
        begun.acquire();
        return call;
    }

    private long pid() {
        try (Response response = broker.caller().call(Request.operation(BACKEND, "test.pid"))) {
            return ((Value.Int) response.value()).value();
        }
    }

    private String record() throws Exception {
        try (Stream<Path> all = Files.list(broker.home().resolve("workers"))) {
            Path own = all.filter(path -> path.toString().endsWith("-" + BACKEND))
                    .findFirst()
                    .orElseThrow();
            return Files.readString(own.resolve("worker.json"));
        }
    }

    @Test
    void losesWhatAKilledWorkerHadBegun() throws Exception {
        broker.startProcess(
                BACKEND, WorkerSetup.of().handler("test.work", Unanswered.class).handler("test.pid", Pid.class));
        long first = pid();
        CompletableFuture<Response> call = begin("test.work");
        broker.kill(BACKEND);
        assertThat(ProcessHandle.of(first)).isEmpty();
        assertThatThrownBy(call::join).hasCauseInstanceOf(CallException.class).satisfies(failure -> {
            CallException cause = (CallException) failure.getCause();
            assertThat(cause.code()).isEqualTo(ErrorCode.WORKER_LOST);
            assertThat(cause.begun()).isNotEqualTo(CallException.Begun.NO);
        });
        assertThat(record())
                .as("as it was")
                .contains("READY", "\"pid\":" + first)
                .doesNotContain("LEFT");

        broker.restart(BACKEND);
        assertThat(pid())
                .isNotEqualTo(first)
                .isNotEqualTo(ProcessHandle.current().pid());
    }

    @Test
    void runsAgainWhatMayBeBegunTwice() throws Exception {
        broker.startProcess(BACKEND, WorkerSetup.of().handler("test.work", Repeated.class));
        CompletableFuture<Response> call = begin("test.work");
        broker.kill(BACKEND);
        broker.restart(BACKEND);
        try (Response response = call.join()) {
            assertThat(response.value()).isEqualTo(Value.of("begun before"));
        }
    }

    private void tally(long all, long own) {
        try (Response response = broker.caller().call(Request.operation(BACKEND, "tally.add"))) {
            assertThat(response.int64("all")).as("in all incarnations").isEqualTo(all);
            assertThat(response.int64("own")).as("in this one").isEqualTo(own);
            assertThat(response.int64("pid"))
                    .isNotEqualTo(ProcessHandle.current().pid());
        }
    }

    @Test
    void hasTheBundlesAndTheStateThatItHad() throws Exception {
        broker.startProcess(BACKEND, WorkerSetup.of(PackedBundles.of(Tally.class, "1.0.0", directory)));
        tally(1, 1);
        tally(2, 2);
        broker.kill(BACKEND);
        broker.restart(BACKEND);
        tally(3, 1);
        broker.restart(BACKEND);
        tally(4, 1);
        assertThatThrownBy(() -> broker.assertReplays(broker.home()))
                .as("calls to another node than the tested one")
                .hasMessageContaining("nothing was replayed");
    }

    @Test
    void leavesInOrderWhenItIsNotKilled() throws Exception {
        broker.startProcess(BACKEND, WorkerSetup.of().handler("test.pid", Pid.class));
        long first = pid();
        broker.close();
        assertThat(ProcessHandle.of(first)).isEmpty();
        assertThat(record()).contains("LEFT");
    }

    @Test
    void showsWhyItDoesNotStart() throws Exception {
        Path empty = Files.createDirectory(directory.resolve("empty"));
        assertThatThrownBy(() -> broker.startProcess(BACKEND, WorkerSetup.of(empty)))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("worker backend does not start in a process of its own")
                .hasMessageContaining("found exit code 1")
                .hasMessageContaining("is no bundle");
        broker.startProcess(BACKEND, WorkerSetup.of(PackedBundles.of(Tally.class, "1.0.0", directory)));
        tally(1, 1);
        assertThatThrownBy(() -> WorkerSetup.of().handler("test.work", Inner.class))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected a constructor without parameters, found none");
    }

    /** Needs its test, which another process has not. */
    @SuppressWarnings("ClassCanBeStatic")
    final class Inner extends Unanswered {}

    @Test
    void refusesWhatNeedsAWorkerInTheOtherPlace() throws Exception {
        assertThatThrownBy(() -> broker.kill(TestBroker.SERVER))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("worker server can't be killed")
                .hasMessageContaining("start it by startProcess");
        broker.startProcess(BACKEND, WorkerSetup.of());
        assertThatThrownBy(() -> broker.handle(BACKEND, "test.work", new Unanswered()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("give its handlers to its WorkerSetup");
        assertThatThrownBy(() -> broker.join(BACKEND))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("this test has one of that name");
    }

    /** As when the JVM of the test is killed: the kernel closes the input of the process. */
    @Test
    void endsWithTheTest() throws Exception {
        ProcessBuilder builder = TestedProcess.command(directory.resolve("other"), BACKEND, WorkerSetup.of());
        Process process = builder.start();
        try (BufferedReader output = process.inputReader()) {
            String line = output.readLine();
            while (line != null && !line.equals(TestedProgram.READY)) {
                line = output.readLine();
            }
            assertThat(line).isEqualTo(TestedProgram.READY);
            process.getOutputStream().close();
            assertThat(process.onExit().get(60, TimeUnit.SECONDS).exitValue()).isOne();
        } finally {
            process.destroyForcibly();
        }
    }
}
