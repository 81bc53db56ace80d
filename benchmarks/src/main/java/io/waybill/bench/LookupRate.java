package io.waybill.bench;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.index.IndexBuilder;
import io.waybill.journal.index.JournalIndex;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;

/**
 * {@code bench lookup}: how fast messages are found by their ids, read and checked, beside positional reads of as many
 * bytes at the same places. Lookups and raw reads take turns; each figure is the median over the rounds. Some messages
 * are looked up right after the journals were filled, too.
 *
 * @param messages in the journals, one half requests and one half responses
 * @param lookups of a round, of random ids
 * @param rounds odd
 */
public record LookupRate(long messages, int lookups, int rounds) {

    static final String ROLE = "lookup";

    private static final int PAYLOAD_BYTES = 64;
    private static final int IN_FLIGHT = 256;
    private static final int RECORDS_PER_STEP = 10_000;
    /** Number of lookups that open the index themselves. */
    private static final int OPENED = 101;
    /** Number of lookups right after the last call, while the workers' indexes lag. */
    private static final int AFTER_FILL = 4000;

    /** Result of filling: the caller's id, and the lookups right after it. */
    private record Filled(int caller, Figures lookups) {}

    /** Location of a message, for a raw read of it. */
    private record Found(Path file, long offset, int bytes) {}

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            progress.accept("filling journals with " + messages + " messages, and looking " + lookups + " of them up, "
                    + rounds + " times");
            return children.start(ROLE, children.directory().resolve("home"), messages, lookups, rounds)
                    .figures();
        }
    }

    /** Arguments: home, messages, lookups, rounds. */
    static void measure(String[] arguments) throws Exception {
        ChildProcess.ready();
        LookupRate rate = new LookupRate(
                Long.parseLong(arguments[1]), Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]));
        ChildProcess.report(rate.measure(Path.of(arguments[0])));
        ChildProcess.awaitEnd();
    }

    private Figures measure(Path path) throws IOException {
        Random random = new Random(messages);
        Filled filled = fill(path, random);
        int caller = filled.caller;
        Path requests = directoryOf(path, "bench-caller");
        Path responses = directoryOf(path, EchoServer.NAME);
        index(requests);
        index(responses);
        List<Figures> ours = new ArrayList<>();
        List<Figures> raw = new ArrayList<>();
        lookUp(requests, responses, caller, random, lookups, new ArrayList<>()); // warms up
        for (int round = 0; round < rounds; round++) {
            List<Found> positions = new ArrayList<>(lookups);
            ours.add(lookUp(requests, responses, caller, random, lookups, positions));
            raw.add(read(positions));
        }
        return new Figures()
                .put("messages", messages)
                .put("lookups", lookups)
                .put("rounds", rounds)
                .put("lookups_per_s", Figures.median(ours, "per_s"))
                .put("p50_ns", Figures.median(ours, "p50_ns"))
                .put("p99_ns", Figures.median(ours, "p99_ns"))
                .put("raw_reads_per_s", Figures.median(raw, "per_s"))
                .put("raw_p50_ns", Figures.median(raw, "p50_ns"))
                .put("raw_p99_ns", Figures.median(raw, "p99_ns"))
                .put("ratio_p50", (double) Figures.median(ours, "p50_ns") / Figures.median(raw, "p50_ns"))
                .put("opened_p50_ns", openedP50(requests, caller, random))
                .put("after_fill_lookups", AFTER_FILL)
                .put("after_fill_p50_ns", (long) filled.lookups.number("p50_ns"))
                .put("after_fill_p99_ns", (long) filled.lookups.number("p99_ns"))
                .put("after_fill_max_ns", (long) filled.lookups.number("max_ns"));
    }

    /** Makes half as many calls, and finds some immediately by id, like an operator who just saw one fail. */
    private Filled fill(Path path, Random random) throws IOException {
        Host host = Host.real();
        Home home = Home.open(path, host);
        HandlerRegistry handlers = EchoServer.registry(host);
        EchoServer.handle(handlers);
        WorkerSettings settings = WorkerSettings.defaults();
        try (Worker server = EchoServer.join(home, EchoServer.NAME, settings, handlers);
                Worker caller = EchoServer.join(home, "bench-caller", settings, EchoServer.registry(host))) {
            server.ready(Map.of());
            caller.ready(Map.of());
            Deque<CompletableFuture<?>> inFlight = new ArrayDeque<>();
            for (long i = 0; i < calls(); i++) {
                if (inFlight.size() == IN_FLIGHT) {
                    inFlight.remove().join();
                }
                inFlight.add(caller.callAsync(Request.raw(
                        EchoServer.NAME,
                        MessageType.userRequest(0x42),
                        ByteBuffer.allocate(PAYLOAD_BYTES).putLong(0, i),
                        List.of())));
            }
            inFlight.forEach(CompletableFuture::join);
            int id = caller.info().id();
            Path requests = caller.directory().path();
            Path responses = server.directory().path();
            return new Filled(id, lookUp(requests, responses, id, random, AFTER_FILL, new ArrayList<>()));
        }
    }

    private long calls() {
        return messages / 2;
    }

    private static Path directoryOf(Path home, String worker) throws IOException {
        try (Stream<Path> workers = Files.list(home.resolve("workers"))) {
            return workers.filter(path -> path.getFileName().toString().endsWith("-" + worker))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Indexes the records that the worker did not. */
    private static void index(Path worker) throws IOException {
        try (IndexBuilder builder = IndexBuilder.open(worker, JournalSettings.defaults(), Host.real())) {
            IndexBuilder.Progress progress;
            do {
                progress = builder.step(RECORDS_PER_STEP);
            } while (progress == IndexBuilder.Progress.BEHIND);
            if (progress != IndexBuilder.Progress.CAUGHT_UP) {
                throw new IOException(worker + " can't be indexed: " + builder.problem());
            }
        }
    }

    private static JournalIndex open(Path worker) {
        return JournalIndex.open(worker, JournalSettings.defaults(), Host.real());
    }

    private Figures lookUp(Path requests, Path responses, int caller, Random random, int count, List<Found> positions)
            throws IOException {
        Histogram times = new Histogram(3);
        long tookNs = 0;
        try (JournalIndex asked = open(requests);
                JournalIndex responded = open(responses)) {
            require(asked, JournalQueue.REQUESTS, MessageId.of(caller, 0));
            require(responded, JournalQueue.RESPONSES, MessageId.of(caller, 0));
            for (int i = 0; i < count; i++) {
                boolean isRequest = i % 2 == 0;
                JournalIndex index = isRequest ? asked : responded;
                JournalQueue queue = isRequest ? JournalQueue.REQUESTS : JournalQueue.RESPONSES;
                long id = MessageId.of(caller, (long) (random.nextDouble() * calls()));
                long startNs = System.nanoTime();
                RecordPosition position = require(index, queue, id);
                long ns = System.nanoTime() - startNs;
                times.recordValue(ns);
                tookNs += ns;
                positions.add(new Found(
                        queue.in(isRequest ? requests : responses).resolve(position.fileName()),
                        position.offset(),
                        index.record(queue).buffer().length()));
            }
        }
        return Percentiles.of(times).put("per_s", Math.round(count * 1e9 / tookNs));
    }

    private static RecordPosition require(JournalIndex index, JournalQueue queue, long id) throws IOException {
        RecordPosition position = index.find(queue, id)
                .orElseThrow(() -> new IOException("message " + MessageId.text(id) + " of the " + queue
                        + " was not found, and it is there " + index.problem()));
        if (index.record(queue).id() != id) {
            throw new IOException("another message was found than " + MessageId.text(id));
        }
        return position;
    }

    private static Figures read(List<Found> positions) throws IOException {
        Histogram times = new Histogram(3);
        Map<Path, FileChannel> files = new HashMap<>();
        long tookNs = 0;
        try {
            for (Found position : positions) {
                FileChannel file = files.get(position.file);
                if (file == null) {
                    file = FileChannel.open(position.file, StandardOpenOption.READ);
                    files.put(position.file, file);
                }
                ByteBuffer bytes = ByteBuffer.allocateDirect(position.bytes);
                long startNs = System.nanoTime();
                file.read(bytes, position.offset);
                long ns = System.nanoTime() - startNs;
                times.recordValue(ns);
                tookNs += ns;
            }
        } finally {
            for (FileChannel file : files.values()) {
                file.close();
            }
        }
        return Percentiles.of(times).put("per_s", Math.round(positions.size() * 1e9 / tookNs));
    }

    /** Returns the median of lookups that open the index themselves, like a command. */
    private long openedP50(Path requests, int caller, Random random) throws IOException {
        Histogram times = new Histogram(3);
        for (int i = 0; i < OPENED; i++) {
            long id = MessageId.of(caller, (long) (random.nextDouble() * calls()));
            long startNs = System.nanoTime();
            try (JournalIndex index = open(requests)) {
                require(index, JournalQueue.REQUESTS, id);
            }
            times.recordValue(System.nanoTime() - startNs);
        }
        return times.getValueAtPercentile(50);
    }
}
