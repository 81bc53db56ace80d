package io.waybill.cli.journal;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A worker whose calls end in every way, in a process of its own; it ends with its input. */
final class ServingMain {

    static final Provider PROVIDER = new Provider("org.acme.outcomes", "1.2.3");

    private ServingMain() {}

    static HandlerRegistry handlers(Host host) {
        HandlerRegistry registry = new HandlerRegistry(
                new ParkingSettings(100, Duration.ofMinutes(10).toNanos()), host.threads(), host.clock());
        add(registry, "t.ok", (message, outbox) -> outbox.response().text("said", "fine"));
        add(registry, "t.throw", (message, outbox) -> {
            throw new IllegalStateException("broken");
        });
        add(registry, "t.refuse", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "not today");
        });
        add(registry, "t.late", ServingMain::late);
        add(registry, "t.hold", (message, outbox) -> outbox.later());
        add(registry, "t.nested", ServingMain::nested);
        add(registry, "t.nestedAsync", ServingMain::nestedAsync);
        add(registry, "t.gone", (message, outbox) -> outbox.response()).withdraw(Duration.ofSeconds(1));
        return registry;
    }

    private static HandlerRegistry.Registration add(
            HandlerRegistry registry, String key, io.waybill.api.handler.MessageHandler handler) {
        return registry.add(HandlerSpec.of(
                HandlerKey.parse(key),
                handler,
                PROVIDER,
                registry.newExecutor(PROVIDER, ExecutorSettings.forProcessors(4))));
    }

    private static void late(Message message, Outbox outbox) throws RejectedMessageException {
        new CompletableFuture<Void>()
                .completeOnTimeout(null, message.int64("ms"), TimeUnit.MILLISECONDS)
                .join();
        outbox.response().text("said", "at last");
    }

    /** Calls along a path of workers, and holds at its end. */
    private static void nested(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.caller().call(next(message)).close();
        outbox.response();
    }

    private static void nestedAsync(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.caller().callAsync(next(message)).join().close();
        outbox.response();
    }

    private static Request next(Message message) throws RejectedMessageException {
        List<String> path = List.of(message.text("path").split(","));
        Request next = Request.operation(path.get(0), path.size() == 1 ? "t.hold" : message.operation());
        if (path.size() > 1) {
            next.body().text("path", String.join(",", path.subList(1, path.size())));
        }
        return next;
    }

    public static void main(String[] arguments) throws IOException {
        Host host = Host.real();
        Home home = Home.open(Path.of(arguments[0]), host);
        try (Worker worker =
                Worker.join(home, arguments[1], JoinOptions.defaults(), WorkerSettings.defaults(), handlers(host))) {
            worker.ready(Map.of());
            System.out.println("ready");
            System.out.flush();
            while (System.in.read() >= 0) {
                continue;
            }
        }
    }
}
