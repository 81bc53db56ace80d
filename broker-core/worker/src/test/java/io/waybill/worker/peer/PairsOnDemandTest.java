package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.ReadProblem;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerState;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers open each other's files when one of them begins to call the other, and not before. */
@Timeout(300)
class PairsOnDemandTest {

    @TempDir
    private Path directory;

    private final AtomicInteger begun = new AtomicInteger();
    private Workers workers;

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private Worker join(String name) throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> {
            begun.incrementAndGet();
            outbox.respond(message.payload());
        });
        return workers.join(name, handlers);
    }

    private static Request request(String to) {
        return Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(16), List.of())
                .timeout(Duration.ofSeconds(100));
    }

    private static void call(Worker from, String to) {
        from.call(request(to)).close();
    }

    private static List<Integer> slots(Worker worker) {
        return worker.directory().cursors().taken().stream()
                .map(CursorSlot::peerId)
                .toList();
    }

    @Test
    void opensNothingForThoseWhoDoNotTalk() throws IOException {
        Worker a = join("a");
        Worker b = join("b");
        Worker bystander = join("bystander");
        assertThat(Workers.linked(a)).isEmpty();
        for (int i = 0; i < 100; i++) {
            call(a, "b");
            call(b, "a");
        }
        assertThat(Workers.linked(a)).containsExactly("b");
        assertThat(Workers.linked(b)).containsExactly("a");
        assertThat(Workers.linked(bystander)).isEmpty();
        assertThat(slots(bystander)).isEmpty();
        assertThat(slots(a)).containsExactly(b.info().id());

        call(a, "bystander");
        assertThat(Workers.linked(bystander)).containsExactly("a");
        call(bystander, "bystander");
        assertThat(Workers.linked(bystander)).containsExactly("a", "bystander");
        assertThat(begun).hasValue(202);
    }

    @Test
    void repeatsAnIntroductionThatWasMissed() throws Exception {
        Worker a = join("a");
        Worker b = join("b");
        Path fifo = b.directory().path().resolve("contacts");
        Path hidden = Files.move(fifo, fifo.resolveSibling("hidden"));
        CompletableFuture<Response> call = a.callAsync(request("b"));
        Waits.until("the request is on record", () -> a.counters().callsSent() == 1);
        assertThat(Workers.linked(b)).isEmpty();
        Files.move(hidden, fifo);
        call.get().close();
        assertThat(Workers.linked(b)).containsExactly("a");
    }

    @Test
    void reachesAWorkerThatJoinsLateAndOneThatReturns() throws IOException {
        Worker a = join("a");
        for (int i = 0; i < 20; i++) {
            Worker b = join("b");
            call(a, "b");
            call(b, "a");
            b.close();
        }
        assertThat(begun).hasValue(40);
    }

    @Test
    void linksAgainWhenBothReturn() throws IOException {
        for (int i = 0; i < 5; i++) {
            Worker a = join("a");
            Worker b = join("b");
            if (i > 0) { // what one of them left unread is not to wait for another call
                Waits.until(
                        "both linked to the one with whom they talked",
                        () -> Workers.linked(a).contains("b")
                                && Workers.linked(b).contains("a"));
            }
            call(a, "b");
            assertThat(slots(a)).hasSize(1);
            assertThat(slots(b)).hasSize(1);
            a.close();
            b.close();
        }
        assertThat(begun).hasValue(5);
    }

    @Test
    void endsALinkThoughACallSawFirstThatThePeerLeft() throws Exception {
        Worker a = join("a");
        for (int i = 0; i < 20; i++) {
            Worker b = join("b");
            call(a, "b");
            FutureTask<Void> left = new FutureTask<>(() -> {
                b.close();
                return null;
            });
            new Thread(left, "leaves").start();
            while (!left.isDone()) { // each looks at the home
                assertThatThrownBy(() -> call(a, "unknown"))
                        .isInstanceOf(CallException.class)
                        .hasMessageContaining("could not find destination");
            }
            left.get();
            Waits.until("the link to b has ended", () -> Workers.linked(a).isEmpty());
        }
    }

    @Test
    void linksAgainToAPeerWhoseFilesCouldNotBeReadForAMoment() throws IOException {
        Worker a = join("a");
        join("b");
        call(a, "b");
        for (int i = 0; i < 3; i++) { // more than once: something else may have changed meanwhile
            PeerLink link = Workers.linkTo(a, "b");
            link.unreadable(ReadProblem.ofFiles("a test says so"));
            Waits.until(
                    "a has another link to b",
                    () -> Stream.of(Workers.links(a).current())
                            .anyMatch(other -> other != link && other.name().equals("b")));
            call(a, "b");
        }
        assertThat(begun).hasValue(4);
    }

    @Test
    void forgetsThatItHadNoLinkToAWorkerThatHasLeft() throws IOException {
        Worker a = join("a");
        try (WorkerDirectory b = workers.home.join("b")) { // it has no queues
            b.publish(WorkerState.READY, List.of(), Map.of());
            assertThatThrownBy(() -> call(a, "b")).hasMessageContaining("queues are gone");
            assertThat(Workers.links(a).restNs()).as("until b is tried again").isZero();
            b.leave();
        }
        Waits.until("a has no more to do for b", () -> Workers.links(a).restNs() > 0);
    }

    @Test
    void beginsWhereTheFirstRequestForItCanBe() throws IOException {
        Worker a = join("a");
        join("b");
        for (int i = 0; i < 1000; i++) {
            call(a, "b");
        }
        Waits.until("the end is noted", () -> a.directory().cursors().requests().endIndex() > 1000);
        Worker late = join("late");
        long end = a.directory().cursors().requests().endIndex();
        call(a, "late");
        long begin = PeerCursors.open(a.directory().path(), a.info().id(), workers.host.files())
                .slotFor(late.info().id())
                .orElseThrow()
                .requestsBegin();
        assertThat(begin).isGreaterThanOrEqualTo(end);
        assertThat(begun).hasValue(1001);
    }

    @Test
    void callsFromAWorkerThatOnlyCalls() throws IOException {
        join("b");
        Worker bystander = join("bystander");
        Worker caller = workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .role(WorkerSettings.Role.CALLS_ONLY)
                        .build());
        call(caller, "b");
        assertThat(Workers.linked(caller)).containsExactly("b");
        assertThat(Workers.linked(bystander)).isEmpty();
    }
}
