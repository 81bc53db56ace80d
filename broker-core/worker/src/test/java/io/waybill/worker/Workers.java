package io.waybill.worker;

import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.Device;
import io.waybill.device.DeviceSettings;
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
import io.waybill.host.Threads;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.rref.References;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.Announcement;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.Polled;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.recover.RecoverySettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Real workers in one home, in this process. Closes what it opened. */
public final class Workers implements AutoCloseable {

    public static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .defaultTimeout(Duration.ofSeconds(20))
            .drainLimit(Duration.ofMillis(100)) // many tests leave handlers that hang
            .journal(new JournalSettings(Roll.HOURLY, 4 << 20, 1 << 20, 2 << 20))
            .recovery(new RecoverySettings(Duration.ofSeconds(30), Duration.ZERO)) // many tests call one that has left
            .build();

    /** Device maps between workers named server and caller: each device to the one of the same name. */
    public static final DeviceSettings TOYS = DeviceSettings.NONE
            .withMap("server", Map.of(Device.parse("toy:0"), Device.parse("toy:0")))
            .withMap("caller", Map.of(Device.parse("toy:0"), Device.parse("toy:0")))
            .withSharing(List.of("server", "caller")); // with a converter that can

    private static final ExecutorSettings ONE_THREAD = new ExecutorSettings(1, 1, 0, 0, Duration.ofSeconds(10));

    public final Host host;
    public final Home home;
    private final List<Worker> open = new ArrayList<>();

    public Workers(Path directory) throws IOException {
        this(directory, Host.real());
    }

    public Workers(Path directory, Host host) throws IOException {
        this.host = host;
        home = Home.open(directory.resolve("home"), host);
    }

    public HandlerRegistry registry() {
        return registry(ParkingSettings.DEFAULT);
    }

    public HandlerRegistry registry(ParkingSettings parking) {
        return new HandlerRegistry(parking, host.threads(), host.clock());
    }

    /** A handler that may block. */
    public HandlerRegistry.Registration handle(HandlerRegistry registry, String key, MessageHandler handler) {
        return handle(registry, key, handler, false, ExecutorSettings.forProcessors(2));
    }

    public HandlerRegistry.Registration handleOnPoller(HandlerRegistry registry, String key, MessageHandler handler) {
        return handleOnPoller(registry, key, handler, ExecutorSettings.forProcessors(2));
    }

    /** The same with so many threads, where it blocks for some messages. */
    public HandlerRegistry.Registration handleOnPoller(
            HandlerRegistry registry, String key, MessageHandler handler, ExecutorSettings threads) {
        return handle(registry, key, handler, true, threads);
    }

    /** Adds one whose requests are run one after the other, on a thread of its own. */
    public HandlerRegistry.Registration handleOneByOne(HandlerRegistry registry, String key, MessageHandler handler) {
        return handle(registry, key, handler, false, ONE_THREAD);
    }

    /** The same on so many threads. */
    public HandlerRegistry.Registration handle(
            HandlerRegistry registry, String key, MessageHandler handler, ExecutorSettings threads) {
        return handle(registry, key, handler, false, threads);
    }

    private HandlerRegistry.Registration handle(
            HandlerRegistry registry,
            String key,
            MessageHandler handler,
            boolean nonBlocking,
            ExecutorSettings threads) {
        Provider provider = new Provider("test-" + key.replace(':', '-'), "1.0.0");
        HandlerExecutor executor = registry.newExecutor(provider, threads);
        return registry.add(new HandlerSpec(
                List.of(HandlerKey.parse(key)),
                handler,
                nonBlocking,
                provider,
                0,
                Workers.class.getClassLoader(),
                executor));
    }

    public Worker join(String name) throws IOException {
        return join(name, registry(), SETTINGS);
    }

    public Worker join(String name, HandlerRegistry registry) throws IOException {
        return join(name, registry, SETTINGS);
    }

    public Worker join(String name, HandlerRegistry registry, WorkerSettings settings) throws IOException {
        Worker worker = Worker.join(home, name, JoinOptions.defaults(), settings, registry);
        open.add(worker);
        worker.ready(Map.of());
        return worker;
    }

    /** The same on other threads. */
    public Worker join(String name, HandlerRegistry registry, WorkerSettings settings, Threads threads)
            throws IOException {
        Home same = Home.open(home.path(), host.withThreads(threads));
        Worker worker = Worker.join(same, name, JoinOptions.defaults(), settings, registry);
        open.add(worker);
        worker.ready(Map.of());
        return worker;
    }

    /** Workers whose queues a worker has open, by name; itself among them while it calls itself. */
    public static List<String> linked(Worker worker) {
        return Stream.of(links(worker).current())
                .map(link -> link.name())
                .sorted()
                .toList();
    }

    /** Returns the links of a worker. */
    public static Links links(Worker worker) {
        return worker.parts.links;
    }

    /** Returns the last link to a worker. */
    public static PeerLink linkTo(Worker worker, String name) {
        return Stream.of(links(worker).current())
                .filter(link -> link.name().equals(name))
                .reduce((earlier, later) -> later)
                .orElseThrow();
    }

    /** Frees what a worker holds whose threads are gone. */
    public static void discard(Worker worker) {
        worker.closeSafely(Duration.ZERO);
    }

    /** Polls once, while no other thread of the worker does. Returns what {@link Polled#poll} did. */
    public static int poll(Worker worker) {
        AtomicInteger work = new AtomicInteger();
        whileNotPolling(worker, () -> work.set(worker.parts.receiver.poll()));
        return work.get();
    }

    /** Runs something while no thread polls for a worker. */
    public static void whileNotPolling(Worker worker, Runnable body) {
        Waits.until("no other thread polls", () -> worker.parts.waiting.whileNotPolling(body));
    }

    /** Returns how often a worker's poller found records after a rest that neither a ring nor another thread ended. */
    public static long foundLate(Worker worker) {
        return worker.parts.poller.foundLate();
    }

    /** Index of the last request that a worker has written. */
    public static long lastRequest(Worker worker) {
        return worker.parts.requestAppender.lastIndex();
    }

    /** Has a worker announce by another way the records that it writes for peers that it links to later. */
    public static void announceBy(Worker worker, Announcement announcement) {
        worker.parts.links.announceBy(announcement);
    }

    /** Has a worker's queue of responses accept no more records, as after a failed sync, while the worker goes on. */
    public static void failResponses(Worker worker, Throwable cause) {
        worker.parts.responseAppender.journal().fail(cause);
    }

    /** Has a worker write a response to a call that another one made, also if a third one was called. */
    public static void respondAs(Worker worker, Worker caller, long id, Value value) throws JournalFullException {
        byte[] payload = new ValueEncoder().value(value).toBytes();
        QueueAppender appender = worker.parts.responseAppender;
        long wallNs = worker.parts.host.clock().wallNs();
        appender.lock();
        try {
            MessageBuffer record = new MessageBuffer();
            record.begin(
                            MessageType.NAMED_RET,
                            id,
                            worker.info().id(),
                            caller.info().id(),
                            payload.length,
                            0)
                    .sentNs(wallNs)
                    .payload(payload, 0, payload.length);
            appender.append(record, wallNs);
        } finally {
            appender.unlock();
        }
    }

    /** Ends the calls of a worker as the thread does that closes it. */
    public static void failCalls(Worker worker) {
        worker.parts.responseReceiver.failAll(
                id -> worker.parts.calling.writer.ended(id, worker.info().name()));
    }

    /** Leases that a worker holds, and that others hold of its regions. */
    public static long leases(Worker worker) {
        return worker.leasesHeld() + worker.leased();
    }

    /** Returns the remote references of a worker. */
    public static References references(Worker worker) {
        return worker.parts.references.references();
    }

    /** Slots of calls that were taken and are not free; at rest none. */
    public static int takenSlots(Worker worker) {
        return worker.callsTaken();
    }

    /** Exchanges of requests that are in use; at rest one at most. */
    public static int exchanges(Worker worker) {
        return worker.exchangesHeld();
    }

    @Override
    public void close() throws IOException {
        for (Worker worker : open) {
            worker.close();
        }
    }
}
