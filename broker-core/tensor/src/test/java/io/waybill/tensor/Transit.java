package io.waybill.tensor;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.device.DeviceRegistry;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.NativeCalls;
import io.waybill.host.SafeFiles;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.segment.PeerSegments;
import io.waybill.tensor.segment.RegionHolder;
import io.waybill.tensor.segment.SegmentPool;
import io.waybill.tensor.segment.StorageReleases;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.wire.Envelope;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

/** A sender and a receiver in one process, with real segment files, and no journal between them. */
public final class Transit implements AutoCloseable {

    static final int SENDER = 1;
    public static final int RECEIVER = 2;
    /** A receiver with the sender's devices. */
    public static final DeviceTargets SAME = device -> device;

    private static final int PAYLOAD_LENGTH = 13;

    public final Path segments;
    public final SafeFiles files = new SafeFiles(NativeCalls.load());
    final NativeMemory memory;
    final HostMemory host;
    final DeviceRegistry devices = new DeviceRegistry(Host.real().threads());
    final ManualClock clock = new ManualClock();
    final ReturnedLeases returned = new ReturnedLeases(RECEIVER);
    public final StorageReleases releases =
            new StorageReleases("releases", Host.real().threads());
    public final SegmentPool pool;
    public final TensorSender sender;
    final TensorReceiver receiver;
    final PeerSegments peer;

    public Transit(Path directory, NoLeaks leaks) {
        this(directory, leaks, TensorConfig.DEFAULTS);
    }

    public Transit(Path directory, NoLeaks leaks, TensorConfig config) {
        memory = leaks.memory;
        host = leaks.host;
        segments = directory.resolve("segments");
        try {
            pool = new SegmentPool(segments, config, files, memory, 1000, returned, RegionHolder.NONE, releases);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        sender = new TensorSender(pool, devices);
        receiver = new TensorReceiver(returned, devices, host, memory, files, clock);
        peer = receiver.peer(SENDER, segments);
    }

    /** A pool of one segment of 64 MiB and no more. */
    public static TensorConfig oneSegment() {
        return new TensorConfig(64 << 20, 64 << 20, 4096, 65536);
    }

    MessageBuffer write(Plan plan) {
        MessageBuffer record = new MessageBuffer();
        record.begin(
                        MessageType.SCRIPT_CALL,
                        MessageId.NONE,
                        SENDER,
                        RECEIVER,
                        PAYLOAD_LENGTH,
                        plan.sectionLength(PAYLOAD_LENGTH))
                .tensorCount(plan.tensorCount())
                .flags(0);
        record.memory().setMemory(Envelope.HEADER_LENGTH, PAYLOAD_LENGTH, (byte) 'x');
        plan.write(record, PAYLOAD_LENGTH);
        record.seal(0);
        return record;
    }

    /** A record in the journal. */
    public MessageBuffer send(Tensor... tensors) {
        Plan plan = sender.plan(List.of(tensors), RECEIVER, SAME);
        MessageBuffer record = write(plan);
        plan.committed();
        return record;
    }

    ReceivedTensors receive(MessageBuffer record) throws MalformedRecordException, RejectedMessageException {
        return receiver.decode(checked(record), peer);
    }

    static RecordView checked(MessageBuffer record) throws MalformedRecordException {
        RecordView view = new RecordView(record);
        view.check();
        return view;
    }

    SectionView section(MessageBuffer record) throws MalformedRecordException {
        SectionView view = new SectionView();
        view.check(checked(record));
        return view;
    }

    /** Host memory whose n-th byte tells its place. */
    public HostStorage filled(long size) {
        HostStorage storage = host.allocate(size);
        fill(storage, 0);
        return storage;
    }

    static void fill(Storage storage, int seed) {
        ByteBuffer bytes = storage.bytes(0, Math.toIntExact(storage.sizeBytes()));
        for (int i = 0; i < bytes.capacity(); i++) {
            bytes.put(i, pattern(i, seed));
        }
    }

    static byte pattern(long at, int seed) {
        return (byte) (at * 31 + (at >> 8) + seed);
    }

    /** A row-major tensor of floats over a storage, from an offset on. */
    public static Tensor floats(Storage storage, long offset, long... sizes) {
        return new Tensor(DType.FLOAT32, sizes, Tensor.contiguousStrides(sizes), offset, false, storage);
    }

    @Override
    public void close() {
        peer.close();
        pool.close();
    }
}
