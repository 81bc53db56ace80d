package io.waybill.worker.peer;

import io.waybill.device.DeviceRegistry;
import io.waybill.device.DeviceSettings;
import io.waybill.device.PeerRoutes;
import io.waybill.home.Members;
import io.waybill.home.Peer;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.TensorReceiver;
import io.waybill.tensor.TensorSender;
import io.waybill.tensor.memory.MappedSegments;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.segment.PeerSegments;
import io.waybill.tensor.segment.RegionHolder;
import io.waybill.tensor.segment.SegmentPool;
import io.waybill.tensor.segment.StorageReleases;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The parts of a worker that send and receive tensors. Thread-safe. */
public final class TensorTransit implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(TensorTransit.class);
    private static final long LOOK_NS = 1_000_000;

    private final MappedSegments mapped;
    private final Host host;
    private final String name;
    private final DeviceSettings settings;
    private final DeviceRegistry devices;
    private final LeaseLedger ledger;
    private final SegmentPool pool;
    private final TensorSender sender;
    private final TensorReceiver receiver;

    /**
     * Creates the parts.
     *
     * @param declared the worker's devices and device maps
     * @param holder other holders of regions of segments
     */
    public TensorTransit(WorkerDirectory directory, TensorConfig config, DeviceSettings declared, RegionHolder holder)
            throws IOException {
        name = directory.name();
        settings = declared;
        host = directory.home().host();
        mapped = new MappedSegments(directory.name(), host.threads(), host.clock());
        devices = new DeviceRegistry(mapped, declared, host.threads());
        NativeMemory memory = new NativeMemory(host.calls(), mapped);
        ledger = new LeaseLedger(directory.cursors());
        pool = new SegmentPool(
                directory.path().resolve(WorkerDirectory.SEGMENTS),
                config,
                host.files(),
                memory,
                host.clock().wallNs(),
                ledger,
                holder,
                new StorageReleases(name + "-releases", host.threads()));
        pool.removeLeftovers(); // requests that name them are not begun: they are for an earlier incarnation
        sender = new TensorSender(pool, devices);
        receiver = new TensorReceiver(ledger, devices, new HostMemory(memory), memory, host.files(), host.clock());
    }

    /**
     * Ways of tensors to and from a peer.
     *
     * @param segments of the peer
     * @param devices on which they arrive; those of a peer that has declared nothing yet
     */
    record Ways(PeerSegments segments, PeerRoutes devices) {}

    Ways ways(Peer peer) {
        return new Ways(
                receiver.peer(peer.id(), peer.path().resolve(WorkerDirectory.SEGMENTS)),
                new PeerRoutes(name, settings, peer.name()));
    }

    /**
     * Checks the device maps of this worker against the declarations of the workers that are present.
     *
     * @throws IllegalArgumentException when a map does not fit
     */
    public void requireMaps(List<Peer> peers) {
        for (Peer peer : peers) {
            if (peer.state().isThere() && peer.record().isPresent()) {
                PeerRoutes.require(
                        name, settings, peer.name(), peer.record().get().settings());
            }
        }
    }

    public DeviceRegistry devices() {
        return devices;
    }

    /** Starts or continues the account of a peer's leases, before its link is used. */
    void linked(PeerLink link) {
        if (ledger.open(link)) { // the link before may be closed later
            sender.receiverGone(link.id());
        }
    }

    /**
     * Ends the leases of a receiver whose last link was closed, unless that was left as unreadable: then its process
     * may still use them.
     */
    void unlinked(PeerLink link) {
        if (link.condition() != PeerLink.Condition.UNREADABLE) {
            sender.receiverGone(link.id());
            ledger.ended(link);
        }
    }

    /** Ends the leases that {@link #unlinked} left, of receivers that have ended since. */
    void lookForEnded(Members members) {
        ledger.takeEnded(members).forEach(sender::receiverGone);
    }

    public SegmentPool pool() {
        return pool;
    }

    public TensorSender sender() {
        return sender;
    }

    public TensorReceiver receiver() {
        return receiver;
    }

    /** Returns whether tensors of a record lie in a segment, or can't be read. */
    public boolean hasLeases(RecordView record) {
        try {
            return receiver.leases(record);
        } catch (MalformedRecordException e) { // its handler's thread reports it
            return true;
        }
    }

    /** Releases the leases of a record that will not be used. */
    public void discard(RecordView record, PeerLink from) {
        if (record.tensorCount() > 0) {
            try {
                receiver.discard(record, from.segments());
            } catch (MalformedRecordException e) {
                LOG.warn("The tensors of a record of worker {} can't be given back", from, e);
            }
        }
    }

    /**
     * Abandons listeners of segments that do not return, and reclaims device memory that receivers have released. Call
     * at intervals.
     */
    public void look() {
        mapped.look();
        sender.look();
    }

    /**
     * Waits until receivers have released the device memory that is shared with them, up to a limit: without this
     * worker nothing holds it.
     */
    public void awaitReceivers(Duration limit) {
        long untilNs = host.clock().monotonicNs() + limit.toNanos();
        boolean interrupted = false;
        sender.look();
        while (pool.leases().areShared() && host.clock().monotonicNs() - untilNs < 0) {
            host.threads().pause(LOOK_NS);
            interrupted |= Thread.interrupted(); // a wait that has a limit continues
            sender.look();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        new CloseSteps()
                .attempt(ledger::close)
                .attempt(pool::close)
                .attempt(mapped::close)
                .finishUnchecked();
    }
}
