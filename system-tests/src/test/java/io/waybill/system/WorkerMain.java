package io.waybill.system;

import ch.qos.logback.classic.Level;
import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Response;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RetentionSettings;
import io.waybill.journal.Roll;
import io.waybill.rref.Keeping;
import io.waybill.rref.RRefSettings;
import io.waybill.rref.control.ControlRetries;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.poll.Waiting;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A process that joins a home, responds to each request with its payload, and calls others when it is told to. It speaks in lines that begin
 * with {@code @}; {@link WorkerProcess} is the other end.
 */
final class WorkerMain {

    static final String ECHO = "0x142";
    static final String LARGE_RESPONSE = "0x143";
    /** Takes a while, and is begun at most once. */
    static final String ONCE = "0x144";
    /** Takes a while, and is run again after the worker died. */
    static final String AGAIN = "0x145";

    static final long WHILE_NS = 2_000_000;
    /** Time may pass between the broker's look at the clock and the handler's. */
    private static final long EXPIRED_NS = 100_000_000;

    static final int LARGE_RESPONSE_BYTES = 30_000;
    static final JournalSettings JOURNAL = new JournalSettings(Roll.HOURLY, 4 << 20, 1 << 20, 2 << 20);

    private final Worker worker;
    private final CallLog log;
    private final ReferenceProgram references;
    private final ReferenceWalk walk;
    private Traffic traffic;

    private WorkerMain(Worker worker, CallLog log, ReferenceProgram references) {
        this.worker = worker;
        this.log = log;
        this.references = references;
        this.walk = references.walk();
    }

    /**
     * @param arguments home, name, log file, reserve in bytes, way of waiting, which values are kept, grace period in ms; and, when journal
     *     files are to be removed, how many stay, and for how many ms what a dead peer has not read does
     */
    public static void main(String[] arguments) throws IOException {
        ((ch.qos.logback.classic.Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).setLevel(Level.INFO);
        Host host = Host.real();
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        WorkerSettings settings = settings(Long.parseLong(arguments[3])).toBuilder()
                .waiting(Waiting.valueOf(arguments[4]))
                .references(references(Keeping.valueOf(arguments[5]), Long.parseLong(arguments[6])))
                .build();
        if (arguments.length > 7) {
            settings = removing(settings, Integer.parseInt(arguments[7]), Long.parseLong(arguments[8]));
        }
        CallLog log = new CallLog(Path.of(arguments[2]));
        registry.expectMore(); // requests that come before the handlers wait for them
        Worker worker;
        try {
            Home home = Home.open(Path.of(arguments[0]), host);
            worker = Worker.join(home, arguments[1], JoinOptions.defaults(), settings, registry);
        } catch (IOException | RuntimeException e) {
            say("failed " + e.getClass().getSimpleName() + " " + e.getMessage());
            System.exit(1);
            return;
        }
        serve(registry, log, worker.directory().epoch());
        ReferenceProgram references = new ReferenceProgram(worker);
        references.serve(registry);
        registry.expectNoMore();
        worker.ready(Map.of());
        say("ready " + worker.info().id() + " " + worker.directory().epoch());
        new WorkerMain(worker, log, references).obey();
    }

    static WorkerSettings settings(long reserveBytes) {
        return WorkerSettings.builder()
                .defaultTimeout(Duration.ofSeconds(60))
                .journal(JOURNAL.withReserveBytes(reserveBytes))
                .build();
    }

    private static WorkerSettings removing(WorkerSettings settings, int maxCycles, long absentMs) {
        return settings.toBuilder()
                .journal(settings.journal().withFileBytes(JournalSettings.FILE_BYTES_MIN))
                .retention(new RetentionSettings(Duration.ZERO, 0, maxCycles, Duration.ofMillis(absentMs)))
                .build();
    }

    private static RRefSettings references(Keeping keeping, long graceMs) {
        RRefSettings defaults = RRefSettings.DEFAULTS;
        ControlRetries retries =
                new ControlRetries(5, Duration.ofMillis(200), Duration.ofSeconds(2), Duration.ofSeconds(20));
        return new RRefSettings(
                Duration.ofMillis(graceMs), defaults.ownerReturn(), defaults.memory(), retries, keeping);
    }

    static void serve(HandlerRegistry registry, CallLog log, long epoch) {
        add(registry, ECHO, (message, outbox) -> {
            if (message.remainingNs() < -EXPIRED_NS) {
                log.expired(message.id());
            }
            log.handled(message.id(), epoch);
            outbox.respond(message.payload());
        });
        add(registry, LARGE_RESPONSE, (message, outbox) -> {
            log.handled(message.id(), epoch);
            ByteBuffer response = ByteBuffer.allocate(LARGE_RESPONSE_BYTES);
            outbox.respond(response.put(message.payload()).rewind());
        });
        serveSlowly(registry, log, epoch);
    }

    private static void serveSlowly(HandlerRegistry registry, CallLog log, long epoch) {
        MessageHandler slow = (message, outbox) -> {
            if (message.remainingNs() < -EXPIRED_NS) {
                log.expired(message.id());
            }
            if (message.isRedelivery()) {
                log.handledAgain(message.id(), epoch);
            } else {
                log.handled(message.id(), epoch);
            }
            LockSupport.parkNanos(WHILE_NS);
            outbox.respond(message.payload());
        };
        registry.add(onThreads(registry, ONCE, slow));
        registry.add(onThreads(registry, AGAIN, slow).withDelivery(DeliveryPolicy.AT_LEAST_ONCE));
    }

    private static HandlerSpec onThreads(HandlerRegistry registry, String type, MessageHandler handler) {
        Provider provider = new Provider("slow-" + type, "1.0.0");
        return HandlerSpec.of(
                HandlerKey.parse(type),
                handler,
                provider,
                registry.newExecutor(provider, ExecutorSettings.forProcessors(2)));
    }

    private static void add(HandlerRegistry registry, String type, MessageHandler handler) {
        Provider provider = new Provider("echo-" + type, "1.0.0");
        HandlerExecutor executor = registry.newExecutor(provider, ExecutorSettings.forProcessors(2));
        registry.add(new HandlerSpec(
                List.of(HandlerKey.parse(type)),
                handler,
                true,
                provider,
                0,
                WorkerMain.class.getClassLoader(),
                executor));
    }

    private void obey() throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "go" -> {
                    traffic = new Traffic(worker, log, List.of(words[1].split(",")), words);
                    traffic.start();
                    say("going");
                }
                case "stop" -> {
                    traffic.stop();
                    say("stopped " + worker.drain(Duration.ofSeconds(20)));
                }
                case "claim" -> say("claimed " + claimAll(Duration.ofMillis(Long.parseLong(words[1]))));
                case "rref" -> say("rref " + references.obey(words));
                case "walk" -> say("walk " + walk.obey(words));
                case "stats" -> say("stats " + stats());
                case "leave" -> {
                    worker.close();
                    say("left");
                    return;
                }
                default -> say("what? " + line);
            }
        }
        System.exit(3); // the test is gone
    }

    /** Claims all that earlier incarnations left open. Returns how much that was. */
    private int claimAll(Duration timeout) throws IOException {
        long[] ids = worker.unanswered(Integer.MAX_VALUE);
        Map<Long, CompletableFuture<Response>> claims = new LinkedHashMap<>();
        for (long id : ids) {
            claims.put(id, worker.claimAsync(id, timeout));
        }
        claims.forEach((id, claim) -> log.claimed(id, outcome(claim)));
        return ids.length;
    }

    private static String outcome(CompletableFuture<Response> claim) {
        try (Response response = claim.join()) {
            return response.payload().hasRemaining() ? Outcomes.OK : "EMPTY";
        } catch (CompletionException e) {
            return codeOf((CallException) e.getCause());
        }
    }

    private String stats() throws IOException {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        StringBuilder text = new StringBuilder();
        text.append("responses=").append(worker.counters().responses());
        text.append(" begun=").append(worker.counters().requestsBegun());
        text.append(" damaged=").append(worker.counters().damagedRecords());
        text.append(" late=").append(worker.counters().lateResponses());
        text.append(" timeouts=").append(worker.counters().timeouts());
        text.append(" lost=").append(worker.counters().failures(ErrorCode.WORKER_LOST));
        text.append(" pauses=").append(worker.counters().pauses());
        text.append(" pending=").append(worker.pendingCalls());
        text.append(" heap=").append(runtime.totalMemory() - runtime.freeMemory());
        text.append(" mapped=").append(mappedFiles());
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("RssAnon")) {
                String[] words = line.split("\\s+");
                text.append(' ').append(words[0].replace(":", "=")).append(Long.parseLong(words[1]) * 1024);
            }
        }
        text.append(" threads=").append(ManagementFactory.getThreadMXBean().getThreadCount());
        return text.toString();
    }

    /** Bytes of files of the home that are mapped. */
    private long mappedFiles() throws IOException {
        String home = worker.directory().home().path().toString();
        long bytes = 0;
        for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
            if (line.contains(home)) {
                String[] range = line.substring(0, line.indexOf(' ')).split("-");
                bytes += Long.parseUnsignedLong(range[1], 16) - Long.parseUnsignedLong(range[0], 16);
            }
        }
        return bytes;
    }

    static String codeOf(CallException e) {
        return e.code().name();
    }

    static void say(String line) {
        System.out.println("@" + line);
    }
}
