package io.waybill.bench.call;

import io.waybill.api.handler.MessageHandler;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.process.ChildProcess;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The called side: a worker with a handler that returns the payload. */
public final class EchoServer {

    public static final String ROLE = "echo-server";
    public static final String PROGRAM_ROLE = "echo-program";
    public static final String NAME = "bench-server";
    public static final String ECHO = "0x142";
    static final String OPERATION = "bench.echo";

    /** Behind a way of waiting: all tensors are archived, at any rate. */
    public static final String RECORDING = "+archive";

    /** Behind a way of waiting: tensors are archived as by default. */
    public static final String BY_DEFAULT = "+default";

    private EchoServer() {}

    /** Arguments: home, waiting, handler. */
    public static void run(String[] arguments) throws IOException {
        EchoHandler handler = EchoHandler.parse(arguments[2]);
        serve(Path.of(arguments[0]), NAME, settings(arguments[1]), handler.isNonBlocking(), handler);
    }

    /** Serves as a program does, calls by name as well as by type. Arguments: see {@link MeasuredSystem}. */
    public static void runProgram(String[] arguments) throws IOException {
        MessageHandler handler = CallLoad.parse(arguments[1]).handler().declared();
        Worker worker = Waybill.connect(home(arguments[0]), NAME)
                .settings(settings(arguments[2]))
                .with(OPERATION, handler)
                .with(ECHO, handler)
                .join();
        try (worker) {
            ChildProcess.ready();
            ChildProcess.awaitEnd();
        }
    }

    /** The home of a measurement, in its directory. */
    public static Path home(String directory) {
        return Path.of(directory, "home");
    }

    public static void serve(String[] arguments, MessageHandler handler) throws IOException {
        serve(Path.of(arguments[0]), NAME, settings(arguments[1]), handler);
    }

    public static void serve(Path home, String name, WorkerSettings settings, MessageHandler handler)
            throws IOException {
        serve(home, name, settings, true, handler);
    }

    public static void serve(
            Path home, String name, WorkerSettings settings, boolean nonBlocking, MessageHandler handler)
            throws IOException {
        Host host = Host.real();
        HandlerRegistry handlers = registry(host);
        handle(handlers, nonBlocking, handler);
        try (Worker worker = join(Home.open(home, host), name, settings, handlers)) {
            worker.ready(Map.of());
            ChildProcess.ready();
            ChildProcess.awaitEnd();
        }
    }

    public static HandlerRegistry registry(Host host) {
        return new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
    }

    /** Adds a non-blocking handler of {@link #ECHO} that returns the payload. */
    public static void handle(HandlerRegistry handlers) {
        handle(handlers, EchoHandler.EMPTY);
    }

    /** Adds a handler of {@link #ECHO}. */
    public static void handle(HandlerRegistry handlers, EchoHandler handler) {
        handle(handlers, handler.isNonBlocking(), handler);
    }

    private static void handle(HandlerRegistry handlers, boolean nonBlocking, MessageHandler handler) {
        Provider provider = new Provider("bench", "1");
        handlers.add(new HandlerSpec(
                List.of(HandlerKey.parse(ECHO)),
                handler,
                nonBlocking,
                provider,
                0,
                EchoServer.class.getClassLoader(),
                handlers.newExecutor(
                        provider,
                        ExecutorSettings.forProcessors(Runtime.getRuntime().availableProcessors()))));
    }

    public static Worker join(Home home, String name, WorkerSettings settings, HandlerRegistry handlers)
            throws IOException {
        return Worker.join(home, name, JoinOptions.defaults(), settings, handlers);
    }

    /** @param how the name of a way of waiting, with what is archived behind it; nothing without */
    public static WorkerSettings settings(String how) {
        int suffix = how.indexOf('+');
        String waiting = suffix < 0 ? how : how.substring(0, suffix);
        return WorkerSettings.builder()
                .waiting(Waiting.valueOf(waiting))
                .archive(
                        switch (how.substring(waiting.length())) {
                            case RECORDING ->
                                ArchiveSettings.DEFAULTS
                                        .withPolicy(ArchivePolicy.ALL)
                                        .withBytesPerSecond(0);
                            case BY_DEFAULT -> ArchiveSettings.DEFAULTS;
                            default -> ArchiveSettings.NONE;
                        })
                .build();
    }

    /** A worker that calls. */
    public static Worker joinCaller(String home, WorkerSettings settings) throws IOException {
        Host host = Host.real();
        Worker worker = join(Home.open(Path.of(home), host), "bench-caller", settings, registry(host));
        worker.ready(Map.of());
        return worker;
    }

    /** Joins as a program does that only calls. */
    static Worker joinProgram(String directory, String name, WorkerSettings settings) throws IOException {
        return Waybill.connect(home(directory), name).settings(settings).join();
    }
}
