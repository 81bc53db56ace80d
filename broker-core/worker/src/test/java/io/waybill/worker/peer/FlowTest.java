package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What happens when a peer is slow, or its handler is away. */
@Timeout(180)
class FlowTest {

    @TempDir
    private Path directory;

    private Workers workers;

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private static Request numbered(String to, int number) {
        return Request.raw(
                to, MessageType.userRequest(0x42), ByteBuffer.allocate(4).putInt(0, number), List.of());
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void refusesWhatAPeerHasNoRoomForAndDoesNotHoldUpCallsToAnother() throws IOException {
        HandlerRegistry slow = workers.registry();
        HandlerRegistry quick = workers.registry();
        CountDownLatch hold = new CountDownLatch(1);
        workers.handle(slow, "0x142", (message, outbox) -> {
            await(hold);
            outbox.respond(message.payload());
        });
        workers.handle(quick, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        workers.join("slow", slow);
        workers.join("quick", quick);
        Worker caller = workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .limits(FlowLimits.defaults().withCallsPerPeer(10).withOverflow(Overflow.REFUSE))
                        .build());
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            calls.add(caller.callAsync(numbered("slow", i)));
        }

        assertThatThrownBy(() -> caller.callAsync(numbered("slow", 10)).join())
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BACK_PRESSURE))
                .hasMessageContaining("slow");
        assertThat(caller.call(numbered("quick", 1)).payload().getInt(0)).isEqualTo(1);
        hold.countDown();
        calls.forEach(CompletableFuture::join);
        assertThat(caller.call(numbered("slow", 11)).payload().getInt(0)).isEqualTo(11);
    }

    @Test
    void makesASenderWaitForRoomAndLosesNothing() throws Exception {
        HandlerRegistry handlers = workers.registry();
        AtomicInteger max = new AtomicInteger();
        AtomicInteger now = new AtomicInteger();
        workers.handle(handlers, "0x142", (message, outbox) -> {
            max.accumulateAndGet(now.incrementAndGet(), Math::max);
            outbox.respond(message.payload());
            now.decrementAndGet();
        });
        workers.join("server", handlers);
        Worker caller = workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .limits(FlowLimits.defaults().withCallsPerPeer(4))
                        .build());

        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            calls.add(caller.callAsync(numbered("server", i)));
        }

        for (int i = 0; i < 2000; i++) {
            assertThat(calls.get(i).get(20, TimeUnit.SECONDS).payload().getInt(0))
                    .isEqualTo(i);
        }
        assertThat(max.get()).isLessThanOrEqualTo(4);
    }

    @Test
    void timesOutASenderThatFindsNoRoomUntilItsDeadline() throws IOException {
        HandlerRegistry handlers = workers.registry();
        CountDownLatch hold = new CountDownLatch(1);
        workers.handle(handlers, "0x142", (message, outbox) -> await(hold));
        workers.join("server", handlers);
        Worker caller = workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .limits(FlowLimits.defaults().withCallsPerPeer(1))
                        .build());
        caller.callAsync(numbered("server", 0));

        assertThatThrownBy(() -> caller.callAsync(numbered("server", 1).timeout(Duration.ofMillis(50)))
                        .join())
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT))
                .hasMessageContaining("nothing was sent");
        hold.countDown();
    }

    /** A request that leaves parking as its handler does goes back to where it was. */
    @Test
    void beginsInOrderWhileTheHandlerComesAndGoes() throws IOException {
        HandlerRegistry handlers = workers.registry();
        MessageHandler echo = (message, outbox) -> outbox.respond(message.payload());
        HandlerRegistry.Registration first = workers.handle(handlers, "0x142", echo);
        Worker swapped = workers.join("swapped", handlers);
        Worker caller = workers.join("caller");
        caller.call(numbered("swapped", 0)).close();
        first.withdraw(Duration.ofSeconds(10));
        int calls = 3000;
        List<CompletableFuture<Response>> responses = new ArrayList<>();
        for (int i = 1; i < calls; i++) {
            responses.add(caller.callAsync(numbered("swapped", i)));
        }
        CompletableFuture<Void> all = CompletableFuture.allOf(responses.toArray(CompletableFuture[]::new));
        for (int swaps = 0; swaps < 500 && !all.isDone(); swaps++) {
            workers.handle(handlers, "0x142", echo).withdraw(Duration.ofSeconds(10));
        }
        workers.handle(handlers, "0x142", echo);
        all.join();
        assertThat(inOrderOfBeginning(swapped)).isSorted().hasSize(calls);
    }

    /** The numbers of the requests that a worker responded to. */
    private static List<Integer> inOrderOfBeginning(Worker worker) {
        Map<Long, Integer> begun = new TreeMap<>();
        MessageBuffer buffer = new MessageBuffer();
        RecordView response = new RecordView(buffer);
        Path responses = worker.directory().path().resolve("responses");
        try (JournalTail tail = JournalTail.open(responses, Workers.SETTINGS.journal())) {
            while (tail.poll(buffer, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                begun.put(
                        response.handlerSequence(),
                        ByteBuffer.wrap(response.copyPayload()).getInt());
            }
        }
        return List.copyOf(begun.values());
    }

    /** Each has 20 s, and a worker without work looks about twice a second. */
    @Test
    void servesWhatWaitsForAThreadWhenOneIsFree() throws IOException {
        HandlerRegistry oneThread = workers.registry();
        workers.handleOneByOne(oneThread, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        workers.join("busy", oneThread);
        Worker caller = workers.join("caller");
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            calls.add(caller.callAsync(numbered("busy", i)));
        }
        for (int i = 0; i < 500; i++) {
            assertThat(calls.get(i).join().payload().getInt(0)).isEqualTo(i);
        }
    }

    @Test
    void parksRequestsWhileTheHandlerIsAwayAndServesThemInOrder() throws IOException {
        HandlerRegistry handlers = workers.registry();
        HandlerRegistry.Registration first =
                workers.handleOnPoller(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        Worker server = workers.join("server", handlers);
        Worker caller = workers.join("caller");
        caller.call(numbered("server", -1));

        first.withdraw(Duration.ofSeconds(10));
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            calls.add(caller.callAsync(numbered("server", i)));
        }
        Waits.until("all parked", () -> server.counters().requestsParked() == 500);
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> {
            order.add(message.payload().getInt(message.payload().position()));
            outbox.respond(message.payload());
        });

        calls.forEach(CompletableFuture::join);
        assertThat(order).hasSize(500).doesNotHaveDuplicates();
        // a thread that is stopped by the host inside the handler is passed by the one that takes its role: one request
        // each time
        assertThat(overtaken(order)).isLessThanOrEqualTo(8);
        assertThat(server.counters().requestsBegun()).isEqualTo(501);
    }

    /**
     * The server's poller is kept in a listener while the only thread of the handler comes free and a new request comes: it then finds both,
     * the new one and one that parked.
     */
    @Test
    void servesWhatParkedBeforeWhatCameSince() throws Exception {
        HandlerRegistry handlers = workers.registry();
        HandlerRegistry others = workers.registry();
        List<Integer> begun = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch finish = new CountDownLatch(1);
        CountDownLatch roomCame = new CountDownLatch(1);
        workers.handleOneByOne(handlers, "0x142", (message, outbox) -> {
            begun.add(message.payload().getInt(message.payload().position()));
            await(finish);
            outbox.respond(message.payload());
        });
        handlers.addListener(new HandlerRegistry.Listener() {
            @Override
            public void changed() {}

            @Override
            public void roomCame() {
                roomCame.countDown();
            }
        });
        workers.handleOnPoller(others, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        Worker server = workers.join("server", handlers);
        workers.join("other", others);
        Worker caller = workers.join("caller");
        CompletableFuture<Response> running = caller.callAsync(numbered("server", 0));
        Waits.until("the thread is busy", () -> begun.size() == 1);
        CompletableFuture<Response> parked = caller.callAsync(numbered("server", 1));
        Waits.until("the second parked", () -> server.counters().requestsParked() == 1);

        KeptPoller poller = new KeptPoller();
        server.call(numbered("other", 0), poller);
        await(poller.kept);
        finish.countDown();
        await(roomCame);
        CompletableFuture<Response> since = caller.callAsync(numbered("server", 2));
        poller.goOn.countDown();

        CompletableFuture.allOf(running, parked, since).join();
        assertThat(begun)
                .as("requests as they began: 1 had parked before 2 was sent")
                .containsExactly(0, 1, 2);
    }

    /** A listener that does not come back before it may. */
    private static final class KeptPoller implements ResponseListener {
        private final CountDownLatch kept = new CountDownLatch(1);
        private final CountDownLatch goOn = new CountDownLatch(1);

        @Override
        public void onResponse(Response response) {
            kept.countDown();
            await(goOn);
        }

        @Override
        public void onFailure(CallException failure) {
            throw new AssertionError("the other worker did not respond", failure);
        }
    }

    @Test
    void servesWhatParkedForACallerThatLeftAndClosesItsFilesThen() throws IOException {
        HandlerRegistry handlers = workers.registry();
        HandlerRegistry.Registration first =
                workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        Worker server = workers.join("server", handlers);
        Worker caller = workers.join("caller");
        caller.call(numbered("server", -1));
        first.withdraw(Duration.ofSeconds(10));
        for (int i = 0; i < 5; i++) {
            caller.callAsync(numbered("server", i));
        }
        Waits.until("all parked", () -> server.counters().requestsParked() == 5);
        caller.close();
        assertThat(descriptorsBelow(caller.directory().path())).isPositive();

        workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        Waits.until("all served", () -> server.counters().requestsBegun() == 6);
        Waits.until(
                "its files closed", () -> descriptorsBelow(caller.directory().path()) == 0);
    }

    private static long descriptorsBelow(Path path) {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.filter(file -> leadsBelow(path, file)).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean leadsBelow(Path path, Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).startsWith(path);
        } catch (IOException e) {
            return false; // closed meanwhile
        }
    }

    private static int overtaken(List<Integer> order) {
        int greatest = -1;
        int count = 0;
        for (int number : order) {
            count += number < greatest ? 1 : 0;
            greatest = Math.max(greatest, number);
        }
        return count;
    }

    @Test
    void givesUpParkedRequestsWithAnErrorThatNamesTheType() throws IOException {
        HandlerRegistry handlers =
                workers.registry(new ParkingSettings(2, Duration.ofMillis(300).toNanos()));
        HandlerRegistry.Registration registration =
                workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        workers.join("server", handlers);
        Worker caller = workers.join("caller");
        caller.call(numbered("server", 0));

        registration.withdraw(Duration.ofSeconds(10));
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            calls.add(caller.callAsync(numbered("server", i)));
        }

        for (CompletableFuture<Response> call : calls) {
            assertThatThrownBy(call::join)
                    .cause()
                    .isInstanceOf(CallException.class)
                    .hasMessageContaining("USER_0X42_CALL");
        }
    }

    @Test
    void swapsAHandlerUnderLoadWithoutLosingFailingOrRepeatingACall() throws Exception {
        HandlerRegistry handlers = workers.registry();
        AtomicInteger handled = new AtomicInteger();
        HandlerRegistry.Registration current = counting(handlers, handled);
        workers.join("server", handlers);
        Worker caller = workers.join("caller");
        int total = 20_000;
        List<CompletableFuture<Response>> calls = Collections.synchronizedList(new ArrayList<>());
        Thread load = workers.host.threads().start("load", () -> {
            for (int i = 0; i < total; i++) {
                calls.add(caller.callAsync(numbered("server", i)));
            }
        });

        while (load.isAlive()) {
            HandlerRegistry.Registration old = current;
            old.withdraw(Duration.ofSeconds(10));
            current = counting(handlers, handled);
        }

        for (int i = 0; i < total; i++) {
            assertThat(calls.get(i).get(30, TimeUnit.SECONDS).payload().getInt(0))
                    .isEqualTo(i);
        }
        assertThat(handled).hasValue(total);
    }

    private HandlerRegistry.Registration counting(HandlerRegistry handlers, AtomicInteger handled) {
        return workers.handle(handlers, "0x142", (message, outbox) -> {
            handled.incrementAndGet();
            outbox.respond(message.payload());
        });
    }

    @Test
    void loadsFromManyThreadsLoseNothing() throws Exception {
        HandlerRegistry handlers = workers.registry();
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        workers.join("server", handlers);
        Worker caller = workers.join("caller");
        AtomicInteger right = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 8; t++) {
            int from = t * 1000;
            threads.add(workers.host.threads().start("caller-" + t, () -> {
                for (int i = from; i < from + 1000; i++) {
                    if (caller.call(numbered("server", i)).payload().getInt(0) == i) {
                        right.incrementAndGet();
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join(50_000);
        }

        assertThat(right).hasValue(8000);
        assertThat(caller.pendingCalls()).isZero();
    }
}
