package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Bundles that wrap calls are updated on both sides, while one worker calls the other at a steady rate: each call has one outcome and runs
 * once, and on each side it ends by the version that it began with. The rate is printed and not asserted.
 */
@Timeout(600)
class WrappedCallsUnderSwapsBundleTest {

    private static final int CALLS_PER_S = 20_000;
    private static final int MAX_IN_FLIGHT = 2_000;
    private static final int TENSOR_EACH = 64; // calls
    private static final int TENSOR_BYTES = 100_000; // goes through a segment
    private static final int FEW = 20;
    private static final int MANY = 200;
    private static final String NAME = "org.acme.envelope";
    private static final String RAN = "waybill.test.ran";
    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .defaultTimeout(Duration.ofSeconds(60))
            .journal(new JournalSettings(Roll.DAILY, 4 << 20, 1 << 20, 2 << 20))
            .tensors(new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10))
            .build();

    /** The caller's side. A request gets its version in front, and so does a response. */
    private static final String INTERCEPTOR = """
            @Component
            @InterceptsMessage("0x143")
            public final class Wrapper implements CallInterceptor {
                @Override
                public void onRequest(OutgoingCall call) {
                    call.wrap(MessageType.userRequest(0x44), versioned(call.payload()));
                }

                @Override
                public void onResponse(IncomingResponse response) {
                    response.unwrap(MessageType.of(0x243), versioned(response.response().payload()));
                }

                static java.nio.ByteBuffer versioned(java.nio.ByteBuffer payload) {
                    java.nio.ByteBuffer more = java.nio.ByteBuffer.allocate(payload.remaining() + 1);
                    return more.put((byte) VERSION).put(payload).flip();
                }
            }
            """;

    /** The callee's side: puts its version behind the caller's. */
    private static final String ENVELOPE = """
            @Component
            @HandlesMessage("0x144")
            public final class Envelope implements MessageHandler {
                @Override
                public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                    java.nio.ByteBuffer payload = message.payload();
                    byte wrappedBy = payload.get();
                    try (Response inner = outbox.dispatch(
                            MessageType.userRequest(0x45), payload.slice(), message.tensors(), List.of())) {
                        inner.tensors().forEach(tensor -> tensor.storage().retain());
                        java.nio.ByteBuffer versions = Wrapper.versioned(inner.payload());
                        java.nio.ByteBuffer response = java.nio.ByteBuffer.allocate(versions.remaining() + 1);
                        outbox.respond(response.put(wrappedBy).put(versions).flip(), inner.tensors(), List.of());
                    }
                }
            }
            """;

    /** The message inside. */
    private static final String INNER = """
            @Component
            @HandlesMessage("0x145")
            public final class Inner implements MessageHandler {
                @Override
                public void handle(Message message, Outbox outbox) {
                    java.nio.ByteBuffer payload = message.payload();
                    ((java.util.function.LongConsumer) System.getProperties().get("waybill.test.ran"))
                            .accept(payload.getLong(payload.position()));
                    message.tensors().forEach(tensor -> tensor.storage().retain());
                    outbox.respond(Wrapper.versioned(payload), message.tensors(), List.of());
                }
            }
            """;

    @TempDir
    private Path directory;

    private final Numbers ran = new Numbers();
    private final Numbers ended = new Numbers();
    private final Map<String, Long> wrong = new ConcurrentHashMap<>(); // what, how often
    private final Semaphore window = new Semaphore(MAX_IN_FLIGHT);
    private volatile boolean stopped; // by the test; read by the calling thread
    private BundleForge forge;
    private Workers workers;
    private HandlerRegistry serving;
    private Worker caller;
    private Worker callee;
    private TestNode callerNode;
    private TestNode calleeNode;

    /** Numbers of calls, each of which is to be there once. Thread-safe. */
    private static final class Numbers {
        private final AtomicLongArray bits = new AtomicLongArray(1 << 18);
        private final AtomicLong count = new AtomicLong();

        /** Returns whether it was not there. */
        boolean add(long number) {
            long bit = 1L << number;
            boolean isNew = (bits.getAndAccumulate((int) (number >>> 6), bit, (all, one) -> all | one) & bit) == 0;
            count.incrementAndGet();
            return isNew;
        }

        long count() {
            return count.get();
        }
    }

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        HandlerRegistry calling = workers.registry();
        serving = workers.registry();
        caller = workers.join("caller", calling, SETTINGS);
        callee = workers.join("callee", serving, SETTINGS);
        callerNode = new TestNode(directory.resolve("caller-node"), calling, caller.interceptors(), caller.brokers());
        calleeNode = new TestNode(directory.resolve("callee-node"), serving, callee.interceptors(), callee.brokers());
        System.getProperties().put(RAN, (java.util.function.LongConsumer) this::ran);
    }

    @AfterEach
    void stop() throws Exception {
        stopped = true;
        callerNode.close();
        calleeNode.close();
        workers.close();
        System.getProperties().remove(RAN);
    }

    private Path version(int version, String... components) throws Exception {
        BundleForge.Draft draft = forge.bundle(NAME, version + ".0.0");
        for (String source : components) {
            String name = source.replaceFirst("(?s).*public final class (\\w+).*", "$1");
            draft.source(name, source.replace("VERSION", Integer.toString(version)));
        }
        return draft.build();
    }

    private void ran(long number) {
        if (!ran.add(number)) {
            isWrong("ran twice");
        }
    }

    private void isWrong(String what) {
        wrong.merge(what, 1L, Long::sum);
    }

    @Test
    void updatesAnInterceptor() throws Exception {
        updatesAnInterceptor(FEW);
    }

    @Test
    @Tag("ci")
    void updatesAnInterceptorManyTimes() throws Exception {
        updatesAnInterceptor(MANY);
    }

    private void updatesAnInterceptor(int updates) throws Exception {
        workers.handle(serving, "0x144", (message, outbox) -> {
            ByteBuffer payload = message.payload();
            byte wrappedBy = payload.get();
            ran(payload.getLong(payload.position()));
            message.tensors().forEach(tensor -> tensor.storage().retain());
            ByteBuffer response = ByteBuffer.allocate(3 + payload.remaining());
            response.put(wrappedBy).put((byte) 0).put((byte) 0).put(payload).flip();
            outbox.respond(response, message.tensors(), List.of());
        });
        Path[] versions = {version(1, INTERCEPTOR), version(2, INTERCEPTOR)};
        update(updates, versions, List.of(callerNode));
    }

    @Test
    void updatesABundleOfAnEnvelopeOnBothSides() throws Exception {
        updatesAnEnvelope(FEW);
    }

    @Test
    @Tag("ci")
    void updatesABundleOfAnEnvelopeOnBothSidesManyTimes() throws Exception {
        updatesAnEnvelope(MANY);
    }

    private void updatesAnEnvelope(int updates) throws Exception {
        Path[] versions = {version(1, INTERCEPTOR, ENVELOPE, INNER), version(2, INTERCEPTOR, ENVELOPE, INNER)};
        update(updates, versions, List.of(callerNode, calleeNode));
    }

    private void update(int updates, Path[] versions, List<TestNode> nodes) throws Exception {
        for (TestNode node : nodes) {
            node.bundles().install(versions[0]);
        }
        long startNs = System.nanoTime();
        CompletableFuture<Long> load = new CompletableFuture<>();
        Thread thread = new Thread(() -> load(load), "load");
        thread.start();
        for (int update = 1; update <= updates; update++) {
            Path jar = versions[update % 2];
            CompletableFuture<?>[] all =
                    nodes.stream().map(node -> updating(node, jar)).toArray(CompletableFuture<?>[]::new);
            CompletableFuture.allOf(all).join();
            long before = ended.count();
            Waits.until("calls go on", () -> ended.count() > before || load.isDone());
        }
        stopped = true;
        long calls = load.get(60, TimeUnit.SECONDS);
        double seconds = (System.nanoTime() - startNs) / 1e9;
        Waits.until("every call ends", () -> ended.count() >= calls);
        System.out.printf(
                "%d updates of %d bundles under %d wrapped calls: %d calls per second of %d, in a window of %d%n",
                updates, nodes.size(), calls, Math.round(calls / seconds), CALLS_PER_S, MAX_IN_FLIGHT);
        assertThat(wrong).as("what was wrong, and how often").isEmpty();
        assertThat(ended.count()).as("outcomes of %d calls", calls).isEqualTo(calls);
        assertThat(ran.count()).as("runs of %d calls", calls).isEqualTo(calls);
        nothingIsLeft(nodes);
    }

    private static CompletableFuture<Void> updating(TestNode node, Path jar) {
        return CompletableFuture.runAsync(() -> {
            try {
                node.bundles().update(jar);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private void nothingIsLeft(List<TestNode> nodes) throws Exception {
        assertThat(caller.pendingCalls()).as("calls in flight").isZero();
        Waits.until(
                () -> Workers.takenSlots(caller) + " slots of calls were taken and are not free",
                () -> Workers.takenSlots(caller) == 0);
        assertThat(caller.counters().lateResponses()).as("responses twice").isZero();
        Waits.until(
                () -> "no interceptor has calls in flight: "
                        + caller.interceptors().calls().statuses(),
                () -> caller.interceptors().calls().statuses().stream().allMatch(status -> status.inFlight() == 0));
        assertThat(caller.interceptors().calls().statuses()).hasSize(1).allMatch(status -> status.failed() == 0);
        Waits.until(
                () -> "no handler has requests in flight: " + serving.statuses(),
                () -> serving.statuses().stream().allMatch(status -> status.inFlight() == 0));
        assertThat(serving.statuses()).allMatch(status -> status.state() == HandlerInfo.State.SERVING);
        assertThat(serving.parkedRequests()).isZero();
        for (Worker worker : List.of(caller, callee)) {
            Waits.until(
                    () -> Workers.exchanges(worker) + " exchanges of worker " + worker.info()
                            + " are in use, and no request is: one at most is ready for the next one",
                    () -> Workers.exchanges(worker) <= 1);
            Waits.until("worker " + worker.info() + " has no leases", () -> Workers.leases(worker) == 0);
        }
        for (TestNode node : nodes) {
            Waits.until(
                    () -> "old class loaders are reachable: "
                            + node.host.loaders().leaked(Duration.ZERO),
                    () -> {
                        System.gc();
                        return node.host.loaders().leaked(Duration.ZERO).isEmpty();
                    });
        }
        assertThat(wrong).as("what was wrong, and how often").isEmpty();
        for (TestNode node : nodes) {
            node.bundles().uninstall(NAME);
        }
        Waits.until(
                "no thread of the bundle is left",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().startsWith(NAME)));
    }

    // ---- the calls

    private void load(CompletableFuture<Long> result) {
        Storage storage = caller.buffers().allocate(TENSOR_BYTES);
        try {
            List<Tensor> tensors = List.of(Tensor.contiguous(DType.UINT8, new long[] {TENSOR_BYTES}, storage));
            long intervalNs = 1_000_000_000L / CALLS_PER_S;
            long startNs = System.nanoTime();
            long number = 0;
            while (!stopped) {
                long earlyNs = startNs + number * intervalNs - System.nanoTime();
                if (earlyNs > 0) {
                    LockSupport.parkNanos(earlyNs);
                } else if (window.tryAcquire(1, TimeUnit.SECONDS)) {
                    call(number, number % TENSOR_EACH == 0 ? tensors : List.of());
                    number++;
                }
            }
            result.complete(number);
        } catch (Throwable e) {
            result.completeExceptionally(e);
        } finally {
            storage.release();
        }
    }

    private void call(long number, List<Tensor> tensors) {
        ByteBuffer payload = ByteBuffer.allocate(Long.BYTES).putLong(0, number);
        Request request = Request.raw("callee", MessageType.userRequest(0x43), payload, tensors);
        ResponseListener listener = new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                check(number, response, tensors.size());
                ended(number);
            }

            @Override
            public void onFailure(CallException failure) {
                isWrong(failure.getMessage());
                ended(number);
            }
        };
        try {
            caller.call(request, listener);
        } catch (CallException e) {
            listener.onFailure(e);
        }
    }

    private void ended(long number) {
        window.release();
        if (!ended.add(number)) {
            isWrong("has two outcomes");
        }
    }

    private void check(long number, Response response, int tensors) {
        ByteBuffer payload = response.payload();
        if (response.type().code() != 0x243 || payload.remaining() != 4 + Long.BYTES) {
            isWrong("a response that is not unwrapped: " + response.type());
            return;
        }
        byte unwrappedBy = payload.get();
        byte wrappedBy = payload.get();
        byte handledBy = payload.get();
        byte innerBy = payload.get();
        if (unwrappedBy != wrappedBy) {
            isWrong("wrapped by version " + wrappedBy + ", unwrapped by " + unwrappedBy);
        }
        if (handledBy != innerBy) {
            isWrong("handled by version " + handledBy + ", the message inside by " + innerBy);
        }
        if (payload.getLong() != number) {
            isWrong("the response of another call");
        }
        if (response.tensors().size() != tensors) {
            isWrong(response.tensors().size() + " tensors instead of " + tensors);
        }
    }
}
