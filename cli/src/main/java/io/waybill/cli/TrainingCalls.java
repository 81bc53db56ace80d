package io.waybill.cli;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.failure.CloseSteps;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Calls between workers of this process, for the profiles that {@link PrepareCommand} archives: to a non-blocking
 * handler and to a plain one, sequential and concurrent, by polling and by sleeping workers, between two workers and
 * among many.
 *
 * <p>Each method must be called often here: a JVM with profiles compiles a method with a rarely-called profile a
 * hundred times later than one without a profile.
 */
final class TrainingCalls {

    private static final int POLLED = 10_000;
    private static final int SLEPT = 2_000; // each one needs some wake-ups
    private static final int AT_ONCE = 64;
    private static final int CROWD = 6; // more than the number up to which each poll reads all queues
    private static final int CROWD_ROUNDS = 100; // each has 30 calls to each handler
    private static final int PLAIN = 0x43;
    private static final int NON_BLOCKING = 0x42;

    private TrainingCalls() {}

    static void run(Home home) throws IOException {
        run(home, Waiting.BALANCED, POLLED);
        run(home, Waiting.LOW_CPU, SLEPT);
        runCrowd(home, Waiting.BALANCED);
        runCrowd(home, Waiting.LOW_CPU);
    }

    private static void run(Home home, Waiting waiting, int calls) throws IOException {
        WorkerSettings settings = WorkerSettings.builder().waiting(waiting).build();
        try (Worker called = join(home, "prepare-called", settings);
                Worker caller = join(home, "prepare-caller", settings)) {
            String name = called.info().name();
            call(caller, request(name, NON_BLOCKING), calls);
            call(caller, request(name, PLAIN), calls);
            callAtOnce(caller, request(name, NON_BLOCKING), calls);
        }
    }

    private static void runCrowd(Home home, Waiting waiting) throws IOException {
        WorkerSettings settings = WorkerSettings.builder().waiting(waiting).build();
        List<Worker> crowd = new ArrayList<>();
        try {
            for (int i = 0; i < CROWD; i++) {
                crowd.add(join(home, "prepare-crowd-" + i, settings));
            }
            for (int round = 0; round < CROWD_ROUNDS; round++) {
                callAllPairs(crowd, NON_BLOCKING);
                callAllPairs(crowd, PLAIN);
            }
        } finally {
            CloseSteps steps = new CloseSteps();
            crowd.forEach(worker -> steps.attempt(worker::close));
            steps.finish();
        }
    }

    private static void callAllPairs(List<Worker> crowd, int type) {
        for (Worker caller : crowd) {
            for (Worker called : crowd) {
                if (called != caller) {
                    call(caller, request(called.info().name(), type), 1);
                }
            }
        }
    }

    private static Worker join(Home home, String name, WorkerSettings settings) throws IOException {
        HandlerRegistry handlers = new HandlerRegistry(
                settings.parking(), home.host().threads(), home.host().clock());
        handle(handlers, NON_BLOCKING, true);
        handle(handlers, PLAIN, false);
        Worker worker = Worker.join(home, name, JoinOptions.defaults(), settings, handlers);
        worker.ready(Map.of());
        return worker;
    }

    private static void handle(HandlerRegistry handlers, int type, boolean nonBlocking) {
        Provider provider = new Provider("prepare-" + type, "1");
        handlers.add(new HandlerSpec(
                List.of(new HandlerKey.OfType(MessageType.userRequest(type))),
                (message, outbox) -> outbox.respond(message.payload()),
                nonBlocking,
                provider,
                0,
                TrainingCalls.class.getClassLoader(),
                handlers.newExecutor(provider, ExecutorSettings.forProcessors(2))));
    }

    private static Request request(String to, int type) {
        return Request.raw(to, MessageType.userRequest(type), ByteBuffer.allocate(64), List.of());
    }

    private static void call(Worker caller, Request request, int calls) {
        for (int i = 0; i < calls; i++) {
            caller.call(request).close();
        }
    }

    private static void callAtOnce(Worker caller, Request request, int calls) {
        List<CompletableFuture<Response>> responses = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            responses.add(caller.callAsync(request));
            if (responses.size() == AT_ONCE) {
                responses.forEach(response -> response.join().close());
                responses.clear();
            }
        }
        responses.forEach(response -> response.join().close());
    }
}
