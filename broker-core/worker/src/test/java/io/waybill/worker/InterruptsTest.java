package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Interrupts that are meant for something else: they close no file of a worker, and end none of its roles. */
@Timeout(300)
class InterruptsTest {

    private static final int LARGE = 200_000; // bytes: a queue's mapping is left behind after some

    @TempDir
    private Path directory;

    private Workers workers;

    @BeforeEach
    void prepare() throws Exception {
        workers = new Workers(directory);
    }

    @AfterEach
    void close() throws Exception {
        Thread.interrupted();
        workers.close();
    }

    private void serve(String name) throws Exception {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        workers.handle(handlers, "text.interrupt", (message, outbox) -> {
            interruptThreadsOf(name);
            outbox.response().bool("done", true);
        });
        workers.join(name, handlers);
    }

    /** What a handler may do that looks for a thread by its name. */
    private static void interruptThreadsOf(String worker) {
        Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(worker + "-"))
                .forEach(Thread::interrupt);
    }

    private static Request raw(String to, int bytes) {
        return raw(to, 0x42, bytes);
    }

    private static Request raw(String to, int type, int bytes) {
        return Request.raw(to, MessageType.userRequest(type), ByteBuffer.allocate(bytes), List.of());
    }

    private static void call(Worker caller, int bytes) {
        try (Response response = caller.call(raw("server", bytes))) {
            assertThat(response.payload().remaining()).isEqualTo(bytes);
        }
    }

    @Test
    void ofTheThreadsOfAWorkerLeaveItReachableForThoseThatJoinLater() throws Exception {
        serve("server");
        Worker before = workers.join("before");
        before.call(Request.operation("server", "text.interrupt")).close();

        for (int i = 0; i < 3; i++) {
            Worker late = workers.join("late-" + i);
            call(late, 10);
            call(before, 10);
            late.call(Request.operation("server", "text.interrupt")).close();
        }
    }

    @Test
    void thatComeAllTheTimeLeaveItReachable() throws Exception {
        serve("server");
        serve("other");
        AtomicBoolean ends = new AtomicBoolean();
        Thread interrupting = workers.host.threads().start("interrupting", () -> {
            while (!ends.get()) {
                interruptThreadsOf("server");
                workers.host.threads().pause(50_000);
            }
        });
        try {
            for (int i = 0; i < 5; i++) {
                Worker late = workers.join("late-" + i);
                for (int n = 0; n < 20; n++) {
                    call(late, LARGE);
                }
                late.close();
            }
        } finally {
            ends.set(true);
            interrupting.join();
        }
    }

    @Test
    void ofACallerCloseNoFile() throws Exception {
        serve("server");
        Worker caller = workers.join("caller");
        Thread.currentThread().interrupt();
        for (int i = 0; i < 100; i++) {
            CompletableFuture<Response> called = caller.callAsync(raw("server", LARGE));
            Waits.until("the call has an outcome", called::isDone);
            called.join().close();
        }
        call(caller, LARGE);
        assertThat(Thread.interrupted()).as("the interrupt of the program's").isTrue();

        for (int i = 0; i < 100; i++) {
            call(caller, LARGE);
        }
    }

    @Test
    void ofAProgramLeaveItsFirstCallToEachWorkerAlone() throws Exception {
        serve("server");
        Thread.currentThread().interrupt();
        Worker caller = workers.join("caller");
        call(caller, 10);
        assertThat(caller.drain(Duration.ofSeconds(10))).isZero();
        caller.close();

        assertThat(Thread.interrupted()).as("the interrupt of the program's").isTrue();
        Worker again = workers.join("caller");
        again.callAsync(raw("server", 10)).get(20, TimeUnit.SECONDS).close();
    }

    @Test
    void ofForeignCodeEndWithIt() throws Exception {
        List<String> seen = new CopyOnWriteArrayList<>();
        HandlerRegistry handlers = workers.registry();
        Provider provider = new Provider("careless", "1");
        handlers.policies().add(provider, request -> {
            interrupted("the policy", seen);
            return Decision.allow();
        });
        handlers.events().add("careless", event -> interrupted("the listener for events", seen), () -> {});
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> {
            interrupted("the non-blocking handler", seen);
            outbox.respond(message.payload());
        });
        workers.handle(handlers, "0x143", (message, outbox) -> {
            interrupted("the handler", seen);
            outbox.respond(message.payload());
        });
        Worker server = workers.join("server", handlers);
        for (int i = 0; i < 20; i++) {
            call(server, "server", 0x42);
            call(server, "server", 0x43);
        }
        Worker client = workers.join("client");
        for (int i = 0; i < 20; i++) { // the listeners run on the poller's thread
            CountDownLatch responded = new CountDownLatch(2);
            for (int type : new int[] {0x42, 0x43}) {
                client.call(raw("server", type, 10), new ResponseListener() {
                    @Override
                    public void onResponse(Response response) {
                        interrupted("the listener for a response", seen);
                        responded.countDown();
                    }

                    @Override
                    public void onFailure(CallException failure) {
                        seen.add(failure.toString());
                        responded.countDown();
                    }
                });
            }
            assertThat(responded.await(20, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(seen)
                .as("foreign code that found an interrupt that other code had left")
                .isEmpty();
    }

    private static void call(Worker caller, String to, int type) {
        CompletableFuture<Response> called = caller.callAsync(raw(to, type, 10));
        Waits.until("the call has an outcome", called::isDone);
        called.join().close();
    }

    /** Leaves an interrupt, as code does that restores one, and notes one that was there before. */
    private static void interrupted(String who, List<String> seen) {
        Thread thread = Thread.currentThread();
        if (Threads.isOurs(thread)) {
            if (thread.isInterrupted()) {
                seen.add(who + " on " + thread.getName());
            }
            thread.interrupt();
        }
    }
}
