package io.waybill.worker.publish;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.event.CallEvent;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.device.DeviceSettings;
import io.waybill.event.CallListeners;
import io.waybill.handling.CallReports;
import io.waybill.home.Home;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.journal.read.QueueReader;
import io.waybill.tensor.SentStorages;
import io.waybill.tensor.segment.RegionHolder;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.LinkLookup;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.poll.PollPermit;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What the writers of a worker are made of, without the worker: its directory in a home, its queues on disk, segments, and a link to itself. Each
 * collaborator behind the append can be told to throw. Closes what it opened.
 */
public final class PublishingRoom implements AutoCloseable {

    /** What is called when a message is published, and can be made to throw. */
    public enum Collaborator {
        ARCHIVE,
        WAKE_UP,
        EVENTS
    }

    public static final JournalSettings JOURNAL = new JournalSettings(Roll.HOURLY, 1 << 20, 256 << 10, 1 << 20);
    private static final int TENSOR_BYTES = 100_000; // through a segment

    public final Host host;
    public final WorkerDirectory directory;
    public final WorkerCounters counters = new WorkerCounters();
    public final TensorTransit transit;
    public final Links links;
    public final HandlerSlots slots;
    public final PollPermit permit;
    public final QueueAppender requests;
    public final QueueAppender responses;
    public final PublishingContext context;
    private final Map<Collaborator, Throwable> planted = new EnumMap<>(Collaborator.class);
    private final List<Collaborator> called = new ArrayList<>();
    private final Map<JournalQueue, Integer> passed = new EnumMap<>(JournalQueue.class);
    private final CloseSteps closing = new CloseSteps();
    private long errorsBefore;

    public PublishingRoom(Path path) throws IOException, JournalFullException {
        Host real = Host.real();
        host = real.withClock(new ForwardingClock(real.clock()) {
            @Override
            public long wallNsAt(long bootNs) {
                if (bootNs == 0) { // the event of a response asks for it
                    call(Collaborator.EVENTS);
                }
                return super.wallNsAt(bootNs);
            }
        });
        directory = Home.open(path.resolve("home"), host).join("a");
        transit = new TensorTransit(directory, TensorConfig.DEFAULTS, DeviceSettings.NONE, RegionHolder.NONE);
        slots = new HandlerSlots(host.threads());
        FaultAlarm faults = new FaultAlarm(host.threads());
        permit = new PollPermit(faults);
        requests = new QueueAppender(journal(JournalQueue.REQUESTS), false, archive(), faults, counters);
        responses = new QueueAppender(journal(JournalQueue.RESPONSES), true, archive(), faults, counters);
        links = new Links(directory, true, JOURNAL, permit, transit);
        links.announceBy((peer, isResponse) -> call(Collaborator.WAKE_UP));
        CallListeners listeners = new CallListeners(host.threads(), host.clock());
        listeners.add("test", this::listen, () -> call(Collaborator.EVENTS)); // which is told of its failures
        CallReports reports = new CallReports(listeners, host.clock());
        context = new PublishingContext(
                directory.info(), host.clock(), transit, JOURNAL.maxRecordBytes(), reports, counters);
    }

    private Journal journal(JournalQueue queue) throws IOException, JournalFullException {
        Path queuePath = directory.subdirectory(queue.directoryName());
        return JournalOpener.open(queuePath, JOURNAL, host.clock(), UnreservedDisk.by(WrittenQueue::reserve));
    }

    private SentStorages archive() {
        return (file, sequence, id, storage, bytes) -> {
            call(Collaborator.ARCHIVE); // when it throws, it has not taken the bytes
            bytes.letGo();
        };
    }

    /** Fails on events of requests; those of responses are passed to it by another thread. */
    private void listen(CallEvent event) {
        if (event.kind() == CallEvent.Kind.APPENDED) {
            throw new IllegalStateException("a listener's own");
        }
    }

    private void call(Collaborator collaborator) {
        called.add(collaborator);
        Throwable failure = planted.get(collaborator);
        if (failure != null) {
            throwUnchecked(failure);
        }
    }

    public static void throwUnchecked(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        throw (RuntimeException) failure;
    }

    /** Begins a case: nothing is planted, leased or called, and what is on record until now is passed over. */
    public void begin() throws IOException {
        planted.clear();
        called.clear();
        giveBackLeases();
        errorsBefore = counters.publishingErrors();
        for (JournalQueue queue : JournalQueue.values()) {
            passed.merge(queue, onRecord(queue).size(), Integer::sum);
        }
    }

    /** Returns the failures behind an append that were counted in this case. */
    public long publishingErrors() {
        return counters.publishingErrors() - errorsBefore;
    }

    /** Makes a collaborator throw from now on. */
    public void plant(Collaborator collaborator, Throwable failure) {
        planted.put(collaborator, failure);
    }

    /** Returns who was called behind an append, in order. */
    public List<Collaborator> called() {
        return called;
    }

    /** Returns the worker's link to itself. */
    public PeerLink link() {
        return new LinkLookup(links, host, () -> false).require(directory.name(), 0, false);
    }

    public Tensor tensor() {
        return Tensor.contiguous(
                DType.UINT8, new long[] {TENSOR_BYTES}, transit.pool().allocate(TENSOR_BYTES));
    }

    /** Returns a tensor that does something when its bytes are read, which is while a record is composed. */
    public static Tensor tensorThat(Runnable onRead) {
        return Tensor.contiguous(DType.UINT8, new long[] {8}, new Storage() {
            @Override
            public Device device() {
                return Device.CPU;
            }

            @Override
            public long sizeBytes() {
                return 8;
            }

            @Override
            public long address() {
                onRead.run();
                return 0;
            }

            @Override
            public ByteBuffer bytes(long offset, int length) {
                return ByteBuffer.allocate(length);
            }

            @Override
            public Storage retain() {
                return this;
            }

            @Override
            public void release() {}
        });
    }

    /** Returns the leases of the worker's regions, by itself as the receiver. */
    public long leases() {
        transit.sender().reclaim();
        return transit.sender().leases();
    }

    /** Returns the bytes in segments that a storage, a lease or the archive holds. */
    public long heldBytes() {
        return transit.pool().usedBytes();
    }

    /** Lets the receiver give back all its leases. */
    public void giveBackLeases() {
        transit.sender().receiverGone(directory.id());
    }

    /** Returns what readers of a queue find that this case has written: the ids, and the code of an error. */
    public List<String> onRecord(JournalQueue queue) throws IOException {
        List<String> found = new ArrayList<>();
        try (QueueReader reader = QueueReader.open(queue.in(directory.path()), host.files(), JOURNAL)) {
            while (reader.next() == QueueReader.Step.RECORD) {
                RecordView record = reader.record();
                String error = record.type() == MessageType.EXCEPTION ? " " + record.errorCode() : "";
                found.add(MessageId.text(record.id()) + error);
            }
        }
        return found.subList(passed.getOrDefault(queue, 0), found.size());
    }

    @Override
    public void close() throws IOException {
        closing.attempt(links::close)
                .attempt(requests::close)
                .attempt(responses::close)
                .attempt(transit::close)
                .attempt(directory::close)
                .finish();
    }
}
