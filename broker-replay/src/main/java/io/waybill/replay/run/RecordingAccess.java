package io.waybill.replay.run;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.rref.id.RRefId;
import io.waybill.tensor.DescribedTensors;
import io.waybill.tensor.DeviceTensors;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.Observations;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Reads a recording on behalf of handlers, one read at a time.
 *
 * <p><b>Threads.</b> Any; reads are serialized.
 */
public final class RecordingAccess {

    private final CallRecording recording;
    private final WorkerInfo worker;
    private final Map<String, WorkerInfo> workers = new HashMap<>();
    // These are guarded by this.
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final Set<Long> brought = new HashSet<>();

    /**
     * Creates the access.
     *
     * @param worker worker whose handlers read
     */
    public RecordingAccess(CallRecording recording, WorkerInfo worker) {
        this.recording = recording;
        this.worker = worker;
        for (WorkerInfo each : recording.workers()) {
            workers.put(WorkerInfo.address(each.id()), each);
            workers.put(Integer.toString(each.id()), each);
        }
        for (WorkerInfo each : recording.workers()) { // a name has priority over an equal decimal id
            workers.put(each.name(), each);
        }
    }

    /** Returns a worker by its address in a request, see {@link io.waybill.api.Request#to}. */
    Optional<WorkerInfo> worker(String nameOrId) {
        return Optional.ofNullable(workers.get(nameOrId));
    }

    /** Returns the worker whose handlers read. */
    WorkerInfo worker() {
        return worker;
    }

    /** Returns why the recording can't be replayed at all; empty if it can. */
    Optional<String> withheld() {
        return recording.withheld();
    }

    /** Formats a worker for display. */
    String describe(int id) {
        WorkerInfo info = workers.get(WorkerInfo.address(id));
        return info == null ? "worker " + id : "worker " + id + " (" + info.name() + ")";
    }

    /** Returns the nested calls of a request's handler, in the incarnation that responded. */
    synchronized List<NestedCall> nested(RecordedCall parent) throws IOException, RejectedMessageException {
        List<NestedCall> nested = new ArrayList<>();
        long sinceNs = earliestNs(parent);
        for (RecordedCall call : recording.nested(parent)) {
            if (call.request().sentNs() < sinceNs) {
                continue;
            }
            Optional<RecordContent> response = call.response().isPresent()
                    ? Optional.of(read(call.response().get()))
                    : Optional.empty();
            nested.add(new NestedCall(call, read(call.request()), response));
        }
        return nested;
    }

    /**
     * Returns when the handler began, for a request that an earlier incarnation may also have begun: earlier nested
     * calls belong to that incarnation.
     */
    private long earliestNs(RecordedCall parent) {
        if (parent.response().isEmpty()) {
            return Long.MIN_VALUE;
        }
        parent.response().get().in(buffer);
        return view.isAcrossIncarnations() && view.begunNs() != 0 ? view.begunNs() : Long.MIN_VALUE;
    }

    synchronized RecordContent content(RecordedMessage message) throws RejectedMessageException {
        return read(message);
    }

    private RecordContent read(RecordedMessage message) throws RejectedMessageException {
        message.in(buffer);
        return RecordContent.of(view);
    }

    /** Returns the observations of a handler until it gave this response. */
    synchronized Observations observations(RecordedMessage response) throws MalformedRecordException {
        response.in(buffer);
        return view.observations();
    }

    /** Returns the tensors; the caller releases each storage once. */
    synchronized List<Tensor> tensors(RecordedMessage message) throws IOException, NotRecordedException {
        return recording.tensors(message);
    }

    /**
     * Tensors at the location where the handler receives them; it releases each storage once.
     *
     * @param elsewhere why they are in host memory instead of on their devices; empty if they are on their devices
     */
    record Placed(List<Tensor> tensors, String elsewhere) {}

    /**
     * Returns the tensors of a message on the receiver's recorded devices, or in host memory if there is no converter
     * for them.
     *
     * @throws RejectedMessageException from a converter
     */
    Placed placed(RecordedMessage message, DeviceTensors on)
            throws IOException, NotRecordedException, RejectedMessageException {
        List<Tensor> tensors = tensors(message);
        List<Device> devices = tensors.isEmpty() ? List.of() : devices(message);
        if (devices.stream().allMatch(Device::isCpu)) {
            return new Placed(tensors, "");
        }
        try {
            return new Placed(on.onDevices(tensors, devices), "");
        } catch (RejectedMessageException e) {
            if (e.code() == ErrorCode.DEVICE_UNAVAILABLE) {
                return new Placed(
                        tensors, "its tensors were on a device, and are in host memory here: " + e.getMessage());
            }
            tensors.forEach(tensor -> tensor.storage().release());
            throw e;
        }
    }

    private synchronized List<Device> devices(RecordedMessage message) throws NotRecordedException {
        message.in(buffer);
        try {
            return DescribedTensors.of(view).stream()
                    .map(tensor -> tensor.storage().device())
                    .toList();
        } catch (MalformedRecordException e) {
            throw new NotRecordedException(
                    "the tensors of " + MessageId.text(message.id()) + " do not read: " + e.getMessage());
        }
    }

    /** Returns the request that created a value of this worker, and counts it; empty if none is recorded. */
    synchronized Optional<RecordedCall> creation(RRefId id) throws IOException {
        Optional<RecordedCall> creation = recording.creation(id);
        if (creation.isEmpty() || creation.get().request().receiver() != worker.id()) {
            return Optional.empty();
        }
        brought.add(creation.get().id());
        return creation;
    }

    /** Returns the number of such requests, each counted once. */
    public synchronized long brought() {
        return brought.size();
    }
}
