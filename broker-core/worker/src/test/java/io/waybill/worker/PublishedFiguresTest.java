package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.broker.Subscription;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.testing.core.Waits;
import io.waybill.worker.metrics.PublishedMetrics;
import io.waybill.worker.upkeep.MetricsPublisher;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What workers publish of their figures, and who can read it. */
@Timeout(300)
class PublishedFiguresTest {

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private Workers workers;
    private Worker caller;
    private Worker callee;

    @BeforeEach
    void join() throws Exception {
        workers = new Workers(directory);
        HandlerRegistry serving = workers.registry();
        workers.handle(serving, "text.slow", (message, outbox) -> outbox.respond(Value.of("slow")));
        workers.handle(serving, "text.hold", (message, outbox) -> {
            awaitRelease();
            outbox.respond(Value.of("held"));
        });
        workers.handleOneByOne(serving, "text.queue", (message, outbox) -> {
            awaitRelease();
            outbox.respond(Value.of("held"));
        });
        callee = workers.join("callee", serving);
        caller = workers.join("caller");
    }

    @AfterEach
    void leave() throws Exception {
        hold.countDown();
        workers.close();
    }

    private void awaitRelease() {
        try {
            hold.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Optional<WorkerMetrics> published(Worker reader, Worker of) throws IOException {
        return reader.metrics().read().stream()
                .filter(each -> each.worker().equals(of.info()))
                .findFirst();
    }

    private void call(int times) {
        for (int i = 0; i < times; i++) {
            caller.call(Request.operation("callee", "text.slow")).close();
        }
    }

    @Test
    void showsEachWorkerTheFiguresOfAll() throws Exception {
        call(25);
        for (Worker reader : List.of(caller, callee)) {
            Waits.until(
                    "both have published",
                    () -> published(reader, callee).isPresent()
                            && published(reader, callee).get().served().stream().anyMatch(each -> each.count() == 25)
                            && published(reader, caller).isPresent()
                            && published(reader, caller).get().called().stream().anyMatch(each -> each.count() == 25));
        }
        WorkerMetrics metrics = published(caller, callee).orElseThrow();
        assertThat(metrics.epoch()).isEqualTo(1);
        assertThat(metrics.pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(metrics.startedMs())
                .isEqualTo(callee.directory().record().joinedAtMs())
                .isLessThanOrEqualTo(metrics.publishedMs());
        assertThat(metrics.served()).singleElement().satisfies(each -> {
            assertThat(each.operation()).isEqualTo("text.slow");
            assertThat(each.peer()).isEqualTo("caller");
        });
        assertThat(metrics.values())
                .containsEntry("requests.begun", 25L)
                .containsEntry("requests.in-flight", 0L)
                .containsEntry("requests.parked", 0L)
                .containsEntry("lag", 0L)
                .containsKeys("jvm.heap-used", "jvm.threads", "links", "tensors.used-bytes");
        assertThat(metrics.values().get("journal.bytes")).isPositive();
        assertThat(caller.metrics().read())
                .extracting(each -> each.worker().id())
                .isSorted();
    }

    @Test
    void publishesCountersOfTheProgram() throws Exception {
        caller.broker().counter("things").add(3);
        Waits.until(
                "it is published",
                () -> published(callee, caller)
                        .map(each -> each.values().get("(program)/things"))
                        .equals(Optional.of(3L)));
    }

    @Test
    void publishesGaugesOfTheProgramWhileItIsAtRest() throws Exception {
        AtomicLong depth = new AtomicLong(-2);
        Subscription gauge = caller.broker().gauge("depth", depth::get);
        for (long expected : new long[] {-2, 7}) {
            depth.set(expected);
            Waits.until(
                    expected + " is published",
                    () -> published(callee, caller)
                            .map(each -> each.values().get("(program):depth"))
                            .equals(Optional.of(expected)));
        }
        gauge.close();
        Waits.until(
                "it is gone",
                () -> !published(callee, caller).orElseThrow().values().containsKey("(program):depth"));
    }

    @Test
    void showsHowManyCallsHaveNoOutcome() throws Exception {
        List<CompletableFuture<Response>> calls = List.of(callAsync("text.queue"), callAsync("text.queue"));
        Waits.until("two are in flight", () -> inFlight().equals(Optional.of(2L)));
        hold.countDown();
        calls.forEach(each -> each.join().close());
        Waits.until("none is in flight", () -> inFlight().equals(Optional.of(0L)));
    }

    private Optional<Long> inFlight() throws IOException {
        return published(callee, caller).map(each -> each.values().get("calls.in-flight"));
    }

    @Test
    void showsWhatIsParkedAndHowFarAWorkerLags() throws Exception {
        List<CompletableFuture<Response>> calls =
                List.of(callAsync("text.queue"), callAsync("text.queue"), callAsync("text.queue"));
        Waits.until(
                "what is too much for its handler is parked",
                () -> published(caller, callee)
                        .map(each -> each.values().get("requests.parked") > 0
                                && each.values().get("requests.parked")
                                                + each.values().get("requests.in-flight")
                                        == 3)
                        .orElse(false));
        assertThat(published(caller, callee).orElseThrow().values()).containsEntry("lag", 0L);
        hold.countDown();
        calls.forEach(each -> each.join().close());
        Waits.until(
                "none is parked",
                () -> published(caller, callee)
                        .map(each -> each.values().get("requests.parked"))
                        .equals(Optional.of(0L)));
    }

    private CompletableFuture<Response> callAsync(String operation) {
        return caller.callAsync(Request.operation("callee", operation));
    }

    @Test
    void countsNoTensorThatReceiversGaveBack() throws Exception {
        for (int i = 0; i < 3; i++) {
            Storage storage = caller.buffers().allocate(4 << 18);
            Request request = Request.operation("callee", "text.slow");
            request.body().tensor("sent", Tensor.contiguous(DType.FLOAT32, new long[] {1 << 18}, storage));
            caller.call(request).close();
            storage.release();
        }
        Waits.until(
                "no lease is left",
                () -> published(callee, caller)
                        .filter(each -> each.values().get("calls.responses") == 3)
                        .map(each -> each.values().get("tensors.leases"))
                        .equals(Optional.of(0L)));
    }

    @Test
    void writesNothingWhileNothingChanges() throws Exception {
        call(3);
        MetricsPublisher second = new MetricsPublisher(
                callee.directory(), callee.counters(), callee.parts.links, new WorkerValues(callee.parts));
        Path file = callee.directory().path().resolve("metrics");
        Waits.until(
                "the worker itself is up to date",
                () -> published(callee, callee)
                        .map(each -> each.values().get("requests.begun"))
                        .equals(Optional.of(3L)));
        second.doWork();
        Object before = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
        for (int turn = 0; turn < 10; turn++) {
            second.doWork();
        }
        assertThat(Files.readAttributes(file, BasicFileAttributes.class).fileKey())
                .isEqualTo(before);
        call(1);
        Waits.until(
                "it has responded and counted",
                () -> callee.counters().served().read().get(0).count() == 4);
        second.doWork();
        assertThat(Files.readAttributes(file, BasicFileAttributes.class).fileKey())
                .isNotEqualTo(before);
    }

    @Test
    void leavesItsLastFiguresBehind() throws Exception {
        call(4);
        callee.close();
        Membership membership = new Membership(workers.home);
        membership.refresh();
        PublishedMetrics all = new PublishedMetrics(() -> membership.members().all(), workers.host.files());
        Map<Peer, WorkerMetrics> found = all.readAll();
        membership.close();
        Peer left = found.keySet().stream()
                .filter(peer -> peer.name().equals("callee"))
                .findFirst()
                .orElseThrow();
        assertThat(left.state()).isEqualTo(PeerState.LEFT);
        assertThat(found.get(left).served().get(0).count()).isEqualTo(4);
        Waits.until(
                "the caller has seen it leave", () -> published(caller, callee).isEmpty());
    }

    @Test
    void keepsTheLastFiguresOfAWorkerThatWasKilled() throws Exception {
        Process process = startCounter();
        try {
            Waits.until(
                    "it has published",
                    () -> caller.metrics().read().stream()
                            .anyMatch(each -> each.worker().name().equals("counter") && each.pid() == process.pid()));
        } finally {
            process.destroyForcibly().waitFor();
        }
        try (Membership membership = new Membership(workers.home)) {
            Waits.until("it is seen to be dead", () -> {
                membership.refresh();
                return membership.members().find("counter").orElseThrow().state() == PeerState.DEAD;
            });
            PublishedMetrics all =
                    new PublishedMetrics(() -> membership.members().all(), workers.host.files());
            assertThat(all.readAll().keySet()).extracting(Peer::name).contains("counter");
            assertThat(all.read()).extracting(each -> each.worker().name()).doesNotContain("counter");
        }
    }

    private Process startCounter() throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String flag : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (flag.startsWith("--add-") || flag.startsWith("-Dslf4j") || flag.startsWith("-Djava.io.tmpdir")) {
                command.add(flag);
            }
        }
        command.addAll(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"));
        command.add(System.getProperty("java.class.path"));
        command.add(CountingProcess.class.getName());
        command.add(workers.home.path().toString());
        return new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    @Test
    void leavesOutAWorkerWhoseFileIsDamaged() throws Exception {
        call(1);
        Waits.until("both have published", () -> caller.metrics().read().size() == 2);
        Path file = callee.directory().path().resolve("metrics");
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 1] ^= 1;
        Files.write(file, bytes);
        assertThat(published(caller, callee)).isEmpty();
        assertThat(published(caller, caller)).isPresent();
    }

    @Test
    void beginsFromZeroWithTheNextIncarnation() throws Exception {
        call(5);
        callee.close();
        Worker next = workers.join("callee");
        Waits.until(
                "the next incarnation has published",
                () -> published(caller, next).map(WorkerMetrics::epoch).equals(Optional.of(2L)));
        assertThat(published(caller, next).orElseThrow().served()).isEmpty();
    }
}
