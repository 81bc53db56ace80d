package io.waybill.replay.slice;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.replay.recording.RecordedTensors;
import io.waybill.replay.recording.SelectedCalls;
import io.waybill.rref.id.RRefId;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Recording of a slice that {@link SliceWriter} wrote, on this host or another. {@link #handled} returns the selected
 * calls; the other methods find the calls that they depend on.
 *
 * <p>All content except the bytes of tensors is read and checked at opening. Uses no more memory than the file's size.
 */
public final class SliceRecording implements CallRecording {

    private final SliceFile file;
    private final SliceInfo info;
    private final SliceIndex index;
    private final Map<Integer, WorkerInfo> workers;
    private final SliceReader reader;
    private final HostMemory memory;
    private final RecordedTensors tensors;

    private SliceRecording(SliceFile file, Host host) throws IOException {
        this.file = file;
        this.info = file.info();
        this.index = SliceIndex.of(file, info);
        this.workers = new TreeMap<>();
        info.workers().forEach(member -> workers.put(member.worker().id(), member.worker()));
        this.reader = newReader();
        this.memory = new HostMemory(new NativeMemory(host.calls()));
        this.tensors = new RecordedTensors(memory, reader);
    }

    /**
     * Opens a slice.
     *
     * @throws MalformedSliceException if it is not a slice, or is damaged
     */
    public static SliceRecording open(Path path, Host host) throws IOException {
        SliceFile file = SliceFile.open(path);
        try {
            return new SliceRecording(file, host);
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    private SliceReader newReader() {
        return new SliceReader(file, index, workers);
    }

    /** Returns the description of the slice: workers, bundles and missing parts. */
    public SliceInfo info() {
        return info;
    }

    SliceFile file() {
        return file;
    }

    SliceIndex index() {
        return index;
    }

    SliceReader reader() {
        return reader;
    }

    @Override
    public List<WorkerInfo> workers() {
        return List.copyOf(workers.values());
    }

    @Override
    public Handled handled(WorkerInfo worker, MessageFilter filter) {
        return new SelectedCalls(newReader()::call, index.selected(), worker.id(), filter, () -> {});
    }

    @Override
    public Optional<RecordedCall> call(long id) throws IOException {
        return reader.call(id);
    }

    @Override
    public List<RecordedCall> nested(RecordedCall parent) throws IOException {
        List<RecordedCall> nested = new ArrayList<>();
        for (long id : index.children(parent.id())) {
            nested.add(reader.call(id).orElseThrow());
        }
        return nested;
    }

    @Override
    public Optional<RecordedCall> creation(RRefId reference) throws IOException {
        OptionalLong id = index.creation(reference);
        return id.isPresent() ? reader.call(id.getAsLong()) : Optional.empty();
    }

    @Override
    public List<Tensor> tensors(RecordedMessage message) throws IOException, NotRecordedException {
        if (info.payloads() == Payloads.FULL) {
            return tensors.of(message);
        }
        long id = message.id();
        Optional<SlicedMessage> found = reader.message(id, SliceReader.kind(message));
        if (found.isPresent() && found.get().storages().isEmpty()) {
            return List.of();
        }
        throw new NotRecordedException("the tensors of " + MessageId.text(id) + " are not there: " + reason());
    }

    private String reason() {
        return file.path() + " was made with --payloads " + info.payloads().text();
    }

    @Override
    public Optional<String> withheld() {
        return info.payloads() == Payloads.FULL ? Optional.empty() : Optional.of(reason());
    }

    /**
     * Returns the SHA-256 of a message's payload, if the slice contains the hash instead of the payload.
     *
     * @param message of this slice
     */
    public Optional<byte[]> payloadDigest(RecordedMessage message) throws IOException {
        return reader.message(message.id(), SliceReader.kind(message))
                .map(SlicedMessage::digest)
                .filter(digest -> digest.length > 0);
    }

    @Override
    public List<String> problems() {
        return info.problems();
    }

    /** Returns the size of the tensors that were created and not released, in bytes. */
    public long liveTensorBytes() {
        return memory.liveBytes();
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
