package io.waybill.bench;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.HomeOnDisk;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.journal.RetentionSettings;
import io.waybill.query.HomeFollower;
import io.waybill.query.HomeJournals;
import io.waybill.query.MessageFilter;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * {@code bench retention}: calls at a steady rate while each worker keeps its journal below a quota. A third worker
 * serves and is never called, and a tool follows the journals: they read all records, and must not get stuck. Checks
 * every second the size of the journals, and which processes have removed files open.
 *
 * @param minutes of load
 * @param quotaBytes of each worker
 * @param callsPerSecond the rate at which calls are begun
 * @param sizeBytes of the payload
 */
public record QuotaUnderLoad(int minutes, long quotaBytes, int callsPerSecond, int sizeBytes) {

    static final String SERVER_ROLE = "quota-server";
    static final String CALLER_ROLE = "quota-caller";
    static final String FOLLOWER_ROLE = "quota-follower";

    private static final String BYSTANDER = "bench-bystander";
    private static final long LOOK_NS = 1_000_000_000L;
    private static final long LOOKS_PER_MINUTE = 60;
    /** Max time that removed files may stay open after the load, in checks. */
    private static final int REST_LOOKS = 20;

    private static final long FOLLOW_PAUSE_NS = 50_000_000L;
    private static final long SHORTEST_SLEEP_NS = 200_000L;
    /** Beyond the timeout of every call. */
    private static final long LAST_RESPONSES_NS = 70_000_000_000L;

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            Children.Child server = children.start(SERVER_ROLE, home, EchoServer.NAME, quotaBytes);
            Children.Child bystander = children.start(SERVER_ROLE, home, BYSTANDER, quotaBytes);
            Children.Child caller = children.start(CALLER_ROLE, home, quotaBytes, callsPerSecond, sizeBytes);
            Children.Child follower = children.start(FOLLOWER_ROLE, home);
            List<Children.Child> all = List.of(server, bystander, caller, follower);
            HomeOnDisk disk = new HomeOnDisk(
                    home, all.stream().map(child -> child.process().pid()).toList());
            for (long look = 0; look < minutes * LOOKS_PER_MINUTE; look++) {
                pause();
                disk.look();
                if (look % LOOKS_PER_MINUTE == 0) {
                    progress.accept("minute " + (look / LOOKS_PER_MINUTE + 1) + " of " + minutes + ": "
                            + disk.maxBytes() + " bytes at most, " + disk.removedOpen() + " removed files open");
                }
            }
            caller.process().getOutputStream().close(); // ends the load
            Figures called = caller.figures();
            for (int look = 0; look < REST_LOOKS && disk.removedOpen() > 0; look++) {
                pause();
                disk.look();
            }
            follower.process().getOutputStream().close();
            Figures followed = follower.figures();
            return figures(called, followed, disk);
        }
    }

    private Figures figures(Figures called, Figures followed, HomeOnDisk disk) {
        return new Figures()
                .put("minutes", minutes)
                .put("quota_bytes", quotaBytes)
                .put("most_bytes", disk.maxBytes())
                .put("calls", called.integer("calls"))
                .put("calls_per_s", called.integer("calls_per_s"))
                .put("refused", called.integer("refused"))
                .put("failed", called.integer("failed"))
                .put("lost", called.integer("lost"))
                .put("max_gap_ms", called.number("max_gap_ms"))
                .put("files_removed", disk.filesRemoved())
                .put("removed_files_open_at_most", disk.maxRemovedOpen())
                .put("removed_files_open_at_the_end", disk.removedOpen())
                .put("stuck_readers", disk.stuckReaders())
                .put("records_followed", followed.integer("records"))
                .put("files_open_at_the_start", disk.filesOpenAtStart())
                .put("files_open_at_the_end", disk.filesOpen());
    }

    private static void pause() {
        long untilNs = System.nanoTime() + LOOK_NS;
        for (long left = LOOK_NS; left > 0; left = untilNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private static WorkerSettings settings(long quotaBytes) {
        return WorkerSettings.builder()
                .retention(RetentionSettings.DEFAULTS.withMaxBytes(quotaBytes))
                .build();
    }

    /** Arguments: home, name, quota. */
    static void server(String[] arguments) throws IOException {
        EchoServer.serve(
                Path.of(arguments[0]),
                arguments[1],
                settings(Long.parseLong(arguments[2])),
                (message, outbox) -> outbox.respond(message.payload()));
    }

    /** Reads all records of the home as they come, until its standard input ends. Arguments: home. */
    static void follower(String[] arguments) throws Exception {
        Thread end = endOfInput();
        try (HomeJournals journals = HomeJournals.open(Home.openExisting(Path.of(arguments[0]), Host.real()));
                HomeFollower follower = journals.follow(MessageFilter.ALL)) {
            AtomicLong records = new AtomicLong();
            follower.begin(0, entry -> records.incrementAndGet());
            ChildProcess.ready();
            while (end.isAlive()) {
                if (follower.poll(entry -> records.incrementAndGet()) == 0) {
                    LockSupport.parkNanos(FOLLOW_PAUSE_NS);
                }
            }
            ChildProcess.report(new Figures().put("records", records.get()));
        }
    }

    private static Thread endOfInput() {
        Thread end = new Thread(
                () -> {
                    try {
                        ChildProcess.awaitEnd();
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                },
                "end");
        end.start();
        return end;
    }

    /** Counter of outcomes and of the max time without one. Completed by one thread at a time. */
    private static final class Outcomes implements ResponseListener {
        private final AtomicLong responded = new AtomicLong();
        private final AtomicLong failed = new AtomicLong();
        private volatile long maxGapNs;
        private volatile String firstFailure = "";
        private long lastNs = System.nanoTime();

        @Override
        public void onResponse(Response response) {
            responded.lazySet(responded.get() + 1);
            long nowNs = System.nanoTime();
            if (nowNs - lastNs > maxGapNs) {
                maxGapNs = nowNs - lastNs;
            }
            lastNs = nowNs;
        }

        @Override
        public void onFailure(CallException failure) {
            if (failed.getAndIncrement() == 0) {
                firstFailure = failure.getMessage();
            }
        }

        long completed() {
            return responded.get() + failed.get();
        }
    }

    /** Arguments: home, quota, calls per second, size. Calls until its standard input ends. */
    static void caller(String[] arguments) throws Exception {
        double intervalNs = 1e9 / Integer.parseInt(arguments[2]);
        Request request = Request.raw(
                EchoServer.NAME,
                MessageType.userRequest(0x42),
                ByteBuffer.allocate(Integer.parseInt(arguments[3])),
                List.of());
        try (Worker worker = EchoServer.joinCaller(arguments[0], settings(Long.parseLong(arguments[1])))) {
            worker.call(request).close(); // so that the link is there
            ChildProcess.ready();
            Thread end = endOfInput();
            Outcomes outcomes = new Outcomes();
            long calls = 0;
            long refused = 0;
            long startNs = System.nanoTime();
            while (end.isAlive()) {
                if (System.nanoTime() < startNs + (long) ((calls + refused) * intervalNs)) {
                    LockSupport.parkNanos(SHORTEST_SLEEP_NS);
                    continue;
                }
                try {
                    worker.call(request, outcomes);
                    calls++;
                } catch (CallException e) {
                    if (e.code() != ErrorCode.JOURNAL_FULL) {
                        throw e;
                    }
                    refused++;
                }
            }
            double seconds = (System.nanoTime() - startNs) / (double) TimeUnit.SECONDS.toNanos(1);
            long untilNs = System.nanoTime() + LAST_RESPONSES_NS;
            while (outcomes.completed() < calls && System.nanoTime() < untilNs) {
                LockSupport.parkNanos(SHORTEST_SLEEP_NS);
            }
            if (!outcomes.firstFailure.isEmpty()) {
                System.err.println("the first failure: " + outcomes.firstFailure);
            }
            ChildProcess.report(new Figures()
                    .put("calls", calls)
                    .put("calls_per_s", Math.round(calls / seconds))
                    .put("refused", refused)
                    .put("failed", outcomes.failed.get())
                    .put("lost", calls - outcomes.completed())
                    .put("max_gap_ms", outcomes.maxGapNs / 1e6));
            ChildProcess.awaitEnd();
        }
    }
}
