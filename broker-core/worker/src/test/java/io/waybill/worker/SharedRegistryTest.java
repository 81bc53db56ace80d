package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.JoinOptions;
import io.waybill.testing.core.Waits;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A registry of handlers that outlives the workers that serve with it. */
@Timeout(300)
class SharedRegistryTest {

    private static final int JOINS = 20;

    @TempDir
    private Path directory;

    @Test
    void refersToNoWorkerThatHasLeft() throws Exception {
        List<WeakReference<Object>> left = new ArrayList<>();
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry registry = workers.registry();
            workers.handle(registry, "text.slow", (message, outbox) -> outbox.respond(Value.of(1)));
            workers.handleOnPoller(registry, "text.fast", (message, outbox) -> outbox.respond(Value.of(1)));
            for (int i = 0; i < JOINS; i++) {
                joinAndCall(workers, registry, left);
            }
            Waits.until(
                    () -> live(left) + " of " + left.size() + " parts of workers that have left are reachable", () -> {
                        System.gc();
                        return live(left) == 0;
                    });
            joinAndCall(workers, registry, left);
            assertThat(registry.statuses()).hasSize(2);
        }
    }

    private static void joinAndCall(Workers workers, HandlerRegistry registry, List<WeakReference<Object>> left)
            throws Exception {
        try (Worker worker = Worker.join(workers.home, "server", JoinOptions.defaults(), Workers.SETTINGS, registry)) {
            worker.call(Request.operation("server", "text.slow")).close();
            worker.call(Request.operation("server", "text.fast")).close();
            WorkerParts parts = worker.parts;
            for (Object each : List.of(worker, parts, parts.poller, parts.receiver, parts.calling.pending)) {
                left.add(new WeakReference<>(each));
            }
        }
    }

    private static long live(List<WeakReference<Object>> references) {
        return references.stream().filter(each -> each.get() != null).count();
    }
}
