package io.waybill.tensor;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.Threads;
import io.waybill.host.failure.CloseSteps;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.segment.Lease;
import io.waybill.tensor.segment.LeasedBytes;
import io.waybill.tensor.segment.SegmentPool;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.agrona.concurrent.UnsafeBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Plan for sending the tensors of one message. Tensors over one storage share it on arrival, except those that
 * PyTorch's rule separates: a tensor whose storage has at least 8 KiB and at least twice the bytes of its elements is
 * sent as its elements alone, contiguous.
 *
 * <p>Order of calls: {@link #sectionLength}, {@link #write}, then {@link #committed} or {@link #abandoned}, after which
 * it belongs to no thread.
 *
 * <p><b>Threads.</b> Owned by the thread that got it from {@link TensorSender}.
 */
public final class Plan {

    private static final long CLONE_FROM_BYTES = 8192;
    private static final int FEW =
            64; // max tensors for a linear search of storages, and max entries kept for the next message

    private static final Logger LOG = LoggerFactory.getLogger(Plan.class);

    private final TensorSender sender;
    private final SegmentPool pool;
    private final NativeMemory memory;
    private final DeviceMoves moves;

    private final List<Tensor> tensors = new ArrayList<>();
    private final List<Storage> sources = new ArrayList<>();
    private final List<Storage> hosts = new ArrayList<>(); // null for a storage that is shared
    private final List<byte[]> handles = new ArrayList<>(); // null for a storage that is not shared
    private final List<Device> destinations = new ArrayList<>();
    private final List<Storage> converted = new ArrayList<>();
    private final List<Device> devices = new ArrayList<>(0);
    private final List<Outgoing> spare = new ArrayList<>();
    private final List<Outgoing> outgoing = new ArrayList<>();
    private final List<Lease> leases = new ArrayList<>();
    private final Placement placement;
    private int[] outgoingOfTensor = new int[8];
    private int[] outgoingOfSource = new int[8];
    private Map<Storage, Integer> sourceNumbers; // null for few tensors
    private int tablesLength;
    private DeviceTargets targets; // devices of the receiver
    private boolean active;
    private SentStorages keeper = SentStorages.NONE;
    private Path keptFile; // this field and the next two: of the record, when there is a keeper
    private long keptSequence;
    private long keptId;

    Plan(TensorSender sender, SegmentPool pool, Converters converters) {
        this.sender = sender;
        this.pool = pool;
        this.memory = pool.memory();
        this.moves = new DeviceMoves(converters);
        this.placement = new Placement(pool, outgoing, leases);
    }

    /** Makes the plan. On an exception the sender abandons it. */
    void make(List<Tensor> sent, int toWorker, DeviceTargets at) {
        active = true;
        targets = at;
        tensors.addAll(sent);
        int count = tensors.size();
        if (outgoingOfTensor.length < count) {
            outgoingOfTensor = new int[count];
            outgoingOfSource = new int[count];
        }
        sourceNumbers = count > FEW ? new IdentityHashMap<>() : null;
        int tensorBytes = 0;
        for (int i = 0; i < count; i++) {
            Tensor tensor = tensors.get(i);
            outgoingOfTensor[i] = outgoingOf(tensor);
            tensorBytes += TensorSection.tensorLength(tensor.dimensions());
        }
        tablesLength = TensorSection.HEADER_LENGTH
                + devices.size() * TensorSection.DEVICE_LENGTH
                + outgoing.size() * TensorSection.STORAGE_LENGTH
                + tensorBytes;
        placement.place(toWorker);
    }

    private int outgoingOf(Tensor tensor) {
        int source = sourceOf(tensor.storage());
        if (handles.get(source) == null && isCutOut(tensor)) {
            return add(source, tensor);
        }
        if (outgoingOfSource[source] < 0) {
            outgoingOfSource[source] = add(source, null);
        }
        return outgoingOfSource[source];
    }

    private static boolean isCutOut(Tensor tensor) {
        long storageBytes = tensor.storage().sizeBytes();
        // counts elements, not their bytes: with strides of 0 these can be more than 2^63
        return storageBytes >= CLONE_FROM_BYTES
                && storageBytes / 2 / tensor.dtype().sizeBytes() >= tensor.elementCount();
    }

    /** Returns the number of a storage among those of the message; copies a new storage to host memory. */
    private int sourceOf(Storage storage) {
        int known = knownSource(storage);
        if (known >= 0) {
            return known;
        }
        Device target = targets.target(storage.device()); // before a copy is made: it may refuse the message
        destinations.add(target);
        byte[] handle = handleOf(storage, target);
        handles.add(handle);
        hosts.add(handle == null ? hostOf(storage) : null);
        sources.add(storage);
        outgoingOfSource[sources.size() - 1] = -1;
        return sources.size() - 1;
    }

    /** Returns the number of a storage that the message has already; -1 for a new one. */
    private int knownSource(Storage storage) {
        if (sourceNumbers != null) {
            Integer known = sourceNumbers.putIfAbsent(storage, sources.size());
            return known == null ? -1 : known;
        }
        for (int i = sources.size() - 1; i >= 0; i--) {
            if (sources.get(i) == storage) {
                return i;
            }
        }
        return -1;
    }

    /** Returns the handle of a storage that is shared; null when the storage's bytes travel. */
    private byte[] handleOf(Storage storage, Device target) {
        boolean mayBe = targets.shares()
                && !target.isCpu()
                && target.type().equals(storage.device().type())
                && storage.sizeBytes() > pool.config().inlineBytes()
                && !(storage instanceof DeviceCopy);
        try {
            return mayBe ? moves.share(storage) : null;
        } catch (RejectedMessageException e) {
            throw failed(e);
        }
    }

    private Storage hostOf(Storage storage) {
        if (storage instanceof DeviceCopy kept) {
            return kept.host();
        }
        try {
            Storage copy = moves.prepare(storage, pool).orElse(null);
            if (copy == null) {
                return storage;
            }
            converted.add(copy);
            return copy;
        } catch (RejectedMessageException e) {
            throw failed(e);
        }
    }

    private static CallException failed(RejectedMessageException e) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), MessageId.NONE, e.getMessage(), e);
    }

    private int add(int source, Tensor onlyTensor) {
        Outgoing next = spare.isEmpty() ? new Outgoing() : spare.remove(spare.size() - 1);
        int origin = numberOf(sources.get(source).device());
        int target = numberOf(destinations.get(source));
        if (handles.get(source) == null) {
            next.begin(hosts.get(source), onlyTensor, origin, target);
        } else {
            next.beginShared(sources.get(source), handles.get(source), origin, target);
        }
        outgoing.add(next);
        return outgoing.size() - 1;
    }

    private int numberOf(Device device) {
        if (device.isCpu()) {
            return TensorSection.CPU;
        }
        int at = devices.indexOf(device);
        if (at >= 0) {
            return at + 1;
        }
        if (devices.size() == TensorSection.MAX_DEVICES) {
            throw new CallException(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.TOO_LARGE,
                    MessageId.NONE,
                    "the tensors of a message lie on at most " + TensorSection.MAX_DEVICES + " devices");
        }
        devices.add(device);
        return devices.size();
    }

    /** Returns the number of tensors: the envelope's tensor count. */
    public int tensorCount() {
        return tensors.size();
    }

    /**
     * Returns the section's length behind a payload of this length, where inlined bytes are aligned within the record.
     */
    public int sectionLength(int payloadLength) {
        if (tensors.isEmpty()) {
            return 0;
        }
        int start = Envelope.sectionOffset(payloadLength);
        long end = (long) start + tablesLength;
        for (int i = 0; i < outgoing.size(); i++) {
            Outgoing next = outgoing.get(i);
            if (!next.isInSegment()) {
                next.recordOffset = Math.toIntExact(TensorSection.align(end));
                end = next.recordOffset + next.recordBytes();
            }
        }
        return Math.toIntExact((end + 7 & ~7L) - start);
    }

    /** Writes the section into a record that was begun with this payload's length and {@link #sectionLength} of it. */
    public void write(MessageBuffer record, int payloadLength) {
        if (tensors.isEmpty()) {
            return;
        }
        int start = Envelope.sectionOffset(payloadLength);
        int end = start + sectionLength(payloadLength);
        UnsafeBuffer to = record.memory();
        SectionWriter.header(to, start, outgoing.size(), tensors.size(), devices.size(), tablesLength);
        int at = start + TensorSection.HEADER_LENGTH;
        for (int i = 0; i < devices.size(); i++) {
            SectionWriter.device(to, at, devices.get(i));
            at += TensorSection.DEVICE_LENGTH;
        }
        for (int i = 0; i < outgoing.size(); i++) {
            SectionWriter.storage(to, at, outgoing.get(i));
            at += TensorSection.STORAGE_LENGTH;
        }
        for (int i = 0; i < tensors.size(); i++) {
            at += SectionWriter.tensor(to, at, tensors.get(i), outgoingOfTensor[i], outgoing.get(outgoingOfTensor[i]));
        }
        for (int i = 0; i < outgoing.size(); i++) {
            Outgoing next = outgoing.get(i);
            if (!next.isInSegment()) {
                to.setMemory(at, next.recordOffset - at, (byte) 0);
                next.write(to, memory);
                at = next.recordOffset + (int) next.recordBytes();
            }
        }
        to.setMemory(at, end - at, (byte) 0);
    }

    /**
     * Notes that the message is in the journal: {@link #committed} will pass its storages in segments to {@code to}.
     *
     * @param file of the queue with its record
     * @param sequence of its record
     */
    public void appended(SentStorages to, Path file, long sequence, long id) {
        keeper = to;
        keptFile = file;
        keptSequence = sequence;
        keptId = id;
    }

    /**
     * Returns whether storages travel through segments: the receiver is leased memory of this incarnation of the
     * sender.
     */
    public boolean leases() {
        return !leases.isEmpty();
    }

    /**
     * Notes that the message is in the journal: its storages in segments stay until the receiver releases them. Ends
     * the plan, and then throws the failure of passing storages to the archive, if any.
     */
    public void committed() {
        requireActive();
        CloseSteps passed = keeper == SentStorages.NONE ? null : passToKeeper();
        for (int i = 0; i < leases.size(); i++) {
            pool.leases().stand(leases.get(i));
        }
        clear();
        if (passed != null) {
            passed.finishUnchecked();
        }
    }

    private CloseSteps passToKeeper() {
        CloseSteps steps = new CloseSteps();
        for (int i = 0; i < outgoing.size(); i++) {
            int number = i;
            steps.attempt(() -> passToKeeper(number, outgoing.get(number))); // a storage may be foreign code
        }
        return steps;
    }

    private void passToKeeper(int i, Outgoing next) {
        if (next.isShared()) {
            next.host.retain();
            pass(i, new LeasedBytes(next.host, next.size, sender::toSegment));
        } else if (next.isInSegment() && next.region.tryHold()) { // the lease holds it: it is only planned yet
            boolean isShared = next.isIn(pool) && !converted.contains(next.host);
            LeasedBytes bytes = new LeasedBytes(next.region, next.offsetInRegion, next.size, isShared);
            pass(i, bytes);
        }
    }

    private void pass(int i, LeasedBytes bytes) {
        boolean taken = false;
        try {
            keeper.sent(keptFile, keptSequence, keptId, i, bytes);
            taken = true;
        } finally {
            if (!taken) {
                bytes.letGo();
            }
        }
    }

    /** Notes that the message did not get into the journal. Ends the plan. */
    public void abandoned() {
        requireActive();
        for (int i = 0; i < leases.size(); i++) {
            pool.leases().cancel(leases.get(i));
        }
        clear();
    }

    private void requireActive() {
        if (!active) {
            throw new IllegalStateException("a plan is committed or abandoned once");
        }
        active = false;
    }

    private void clear() {
        for (int i = 0; i < outgoing.size(); i++) {
            outgoing.get(i).clear();
            if (spare.size() < FEW) {
                spare.add(outgoing.get(i));
            }
        }
        for (int i = 0; i < converted.size(); i++) {
            boolean pending = Threads.hideInterrupt();
            try {
                converted.get(i).release();
            } catch (Throwable e) { // the boundary around a storage
                ForeignErrors.warn(LOG, "A copy of a storage that a converter had made could not be given back", e);
            } finally {
                Threads.restoreInterrupt(pending);
            }
        }
        outgoing.clear();
        converted.clear();
        tensors.clear();
        sources.clear();
        hosts.clear();
        handles.clear();
        destinations.clear();
        sourceNumbers = null;
        targets = null;
        devices.clear();
        moves.clear();
        leases.clear();
        keeper = SentStorages.NONE;
        sender.done(this);
    }
}
