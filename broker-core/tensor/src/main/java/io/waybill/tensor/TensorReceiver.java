package io.waybill.tensor;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.Clock;
import io.waybill.host.SafeFiles;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.segment.PeerSegments;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Decoder of the tensor sections of records. Every record with a section is either decoded or discarded, once, or its
 * sender waits indefinitely for its memory.
 *
 * <p><b>Threads.</b> Thread-safe.
 *
 * <p><b>Errors.</b> {@link MalformedRecordException} when the section is damaged; its leases may stay open, since their
 * ids are unreliable. {@link RejectedMessageException} when the section is valid and its tensors are unavailable:
 * {@link ErrorCode#TENSORS_GONE} for a missing segment, {@link ErrorCode#PEER_CORRUPT} for a truncated one,
 * {@link ErrorCode#DEVICE_UNAVAILABLE} and others of the converters; its leases are released. A record that failed here
 * is not discarded as well.
 */
public final class TensorReceiver {

    private final LeaseReturns returns;
    private final Converters converters;
    private final HostMemory hostMemory;
    private final NativeMemory memory;
    private final SafeFiles files;
    private final Clock clock;
    private final AtomicInteger leasesHeld = new AtomicInteger();
    private final ConcurrentLinkedQueue<SectionView> views = new ConcurrentLinkedQueue<>();

    public TensorReceiver(
            LeaseReturns returns,
            Converters converters,
            HostMemory hostMemory,
            NativeMemory memory,
            SafeFiles files,
            Clock clock) {
        this.returns = returns;
        this.converters = converters;
        this.hostMemory = hostMemory;
        this.memory = memory;
        this.files = files;
        this.clock = clock;
    }

    /**
     * Returns the segments of a peer, or of this worker itself.
     *
     * @param segments the peer's directory of segment files
     */
    public PeerSegments peer(int workerId, Path segments) {
        return new PeerSegments(workerId, segments, files, memory, clock);
    }

    /**
     * Decodes the tensors of a record that has passed its own check.
     *
     * @return tensors that the caller releases
     */
    public ReceivedTensors decode(RecordView record, PeerSegments peer)
            throws MalformedRecordException, RejectedMessageException {
        ReceivedTensors arrived = arrive(record, peer);
        boolean whole = false;
        try {
            arrived.convert();
            whole = true;
            return arrived;
        } finally {
            if (!whole) {
                arrived.release();
            }
        }
    }

    /**
     * Decodes the tensors up to {@link ReceivedTensors#convert}: calls no converter, and does not wait.
     *
     * @return tensors that the caller releases
     */
    public ReceivedTensors arrive(RecordView record, PeerSegments peer)
            throws MalformedRecordException, RejectedMessageException {
        if (record.tensorCount() == 0) {
            return ReceivedTensors.NONE;
        }
        SectionView view = view();
        boolean free = true;
        try {
            view.check(record);
            ReceivedTensors arrived = new Decoding(view, record, peer).run();
            free = !arrived.isForDevice();
            return arrived;
        } finally {
            if (free) {
                views.offer(view);
            }
        }
    }

    /**
     * Puts tensors that were kept for devices on these devices.
     *
     * @return tensors that hold one count of their storages each; the given ones are released
     * @throws RejectedMessageException thrown by the converters; nothing was released then
     */
    public List<Tensor> placed(List<Tensor> tensors) throws RejectedMessageException {
        DeviceMoves moves = new DeviceMoves(converters);
        try {
            return DeviceCopy.placed(tensors, moves);
        } finally {
            moves.clear();
        }
    }

    /** Returns whether a record's storages are in segments: memory that was leased to the record's receiver. */
    public boolean leases(RecordView record) throws MalformedRecordException {
        if (record.tensorCount() == 0) {
            return false;
        }
        SectionView view = view();
        try {
            view.check(record);
            boolean leases = false;
            for (int i = 0; i < view.storageCount() && !leases; i++) {
                leases = !view.isInline(i);
            }
            return leases;
        } finally {
            views.offer(view);
        }
    }

    /** Releases the leases of a record whose tensors will not be used. */
    public void discard(RecordView record, PeerSegments peer) throws MalformedRecordException {
        if (record.tensorCount() == 0) {
            return;
        }
        SectionView view = view();
        try {
            view.check(record);
            for (int i = 0; i < view.storageCount(); i++) {
                if (isFirstOfItsLease(view, i)) {
                    returns.released(peer.peer(), view.lease(i));
                }
            }
        } finally {
            views.offer(view);
        }
    }

    private static boolean isFirstOfItsLease(SectionView view, int storage) {
        if (view.isInline(storage)) {
            return false;
        }
        for (int i = 0; i < storage; i++) {
            if (!view.isInline(i) && view.lease(i) == view.lease(storage)) {
                return false;
            }
        }
        return true;
    }

    /** Returns the number of leases of all peers whose storages are in use here. */
    public int leasesHeld() {
        return leasesHeld.get();
    }

    private SectionView view() {
        SectionView view = views.poll();
        return view == null ? new SectionView() : view;
    }

    /** Decoding of one record: everything created so far, so that it can be undone. */
    private final class Decoding {
        private final SectionView view;
        private final UnsafeBuffer record;
        private final boolean isRequest;
        private final PeerSegments peer;
        private final List<Storage> storages;
        private final List<InlineStorage> inlined = new ArrayList<>(2);
        private final List<ArrivedLease> leases = new ArrayList<>(2);

        Decoding(SectionView view, RecordView record, PeerSegments peer) {
            this.view = view;
            this.record = record.buffer().memory();
            this.isRequest = record.type().isRequest();
            this.peer = peer;
            this.storages = new ArrayList<>(view.storageCount());
        }

        ReceivedTensors run() throws MalformedRecordException, RejectedMessageException {
            boolean whole = false;
            boolean forDevice = false;
            try {
                openLeases();
                for (int i = 0; i < view.storageCount(); i++) {
                    storages.add(arrived(i));
                    forDevice |= !view.targetDevice(i).isCpu();
                }
                List<Tensor> tensors = tensors(); // over host memory first: a wrong section is its sender's fault
                DeviceMoves moves = isRequest ? DeviceMoves.ofRequest(converters) : new DeviceMoves(converters);
                ReceivedTensors received = forDevice
                        ? new ReceivedTensors(this::convert, moves, storages, inlined, hostMemory, memory)
                        : new ReceivedTensors(tensors, storages, inlined, hostMemory, memory);
                whole = true;
                return received;
            } finally {
                if (!whole) {
                    storages.forEach(Storage::release);
                }
                leases.forEach(ArrivedLease::oneDone);
            }
        }

        private List<Tensor> tensors() throws MalformedRecordException {
            Tensor[] tensors = new Tensor[view.tensorCount()];
            for (int i = 0; i < tensors.length; i++) {
                tensors[i] = view.tensor(i, storages.get(view.storageOf(i)));
            }
            return List.of(tensors);
        }

        private List<Tensor> convert(List<Storage> arrived, DeviceMoves moves) throws RejectedMessageException {
            for (int i = 0; i < arrived.size(); i++) {
                convert(i, view.targetDevice(i), moves);
            }
            try {
                return tensors();
            } catch (MalformedRecordException | RuntimeException | Error e) { // a storage of a bundle's own
                throw new RejectedMessageException(
                        ErrorCode.DEVICE_LOST, "no tensor can be made over a storage that a converter made: " + e, e);
            }
        }

        private void openLeases() {
            for (int i = 0; i < view.storageCount(); i++) {
                if (!view.isInline(i) && lease(view.lease(i)) == null) {
                    leases.add(new ArrivedLease(peer.peer(), view.lease(i), returns, leasesHeld));
                }
            }
        }

        private ArrivedLease lease(long id) {
            for (ArrivedLease lease : leases) {
                if (lease.id() == id) {
                    return lease;
                }
            }
            return null;
        }

        private Storage arrived(int storage) throws RejectedMessageException {
            long size = view.size(storage);
            long offset = view.offset(storage);
            if (view.isInline(storage)) {
                ByteBuffer holder = record.byteBuffer();
                InlineStorage inline = new InlineStorage(holder, record.addressOffset(), (int) offset, (int) size);
                inlined.add(inline);
                return inline;
            }
            ArrivedLease lease = lease(view.lease(storage));
            if (view.isShared(storage)) {
                return new SharedStorage(view.targetDevice(storage), size, view.handle(storage), lease);
            }
            ArrivedStorage arrived = new ArrivedStorage(peer.use(view.segment(storage), offset, size), lease);
            lease.add(arrived);
            return arrived;
        }

        private void convert(int storage, Device target, DeviceMoves moves) throws RejectedMessageException {
            if (target.isCpu()) {
                return;
            }
            Storage host = storages.get(storage);
            Storage converted = convert(host, target, moves);
            storages.set(storage, converted);
            boolean cut = isCut(host);
            giveBack(host, target);
            if (cut) {
                throw cutShort();
            }
        }

        private Storage convert(Storage host, Device target, DeviceMoves moves) throws RejectedMessageException {
            if (host instanceof SharedStorage shared) {
                return moves.open(shared.handle(), shared, target);
            }
            try {
                return moves.allocate(host, target);
            } catch (RejectedMessageException e) {
                throw isCut(host) ? cutShort() : e;
            }
        }

        private static void giveBack(Storage host, Device target) throws RejectedMessageException {
            try {
                host.release();
            } catch (IllegalStateException e) {
                throw new RejectedMessageException(
                        ErrorCode.DEVICE_LOST,
                        "the converter for " + target.type() + " gave back a count of a storage that was not its own",
                        e);
            }
        }

        private static boolean isCut(Storage host) {
            return host instanceof ArrivedStorage arrived && arrived.isCut();
        }

        private RejectedMessageException cutShort() {
            return new RejectedMessageException(
                    ErrorCode.PEER_CORRUPT,
                    "a segment of worker " + peer.peer() + " was cut short while tensors were copied out of it");
        }
    }
}
