package io.waybill.replay.slice;

import io.waybill.api.WorkerInfo;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.query.CallTree;
import io.waybill.query.FoundMessage;
import io.waybill.query.MessageFilter;
import io.waybill.query.NestedCallSearch;
import io.waybill.query.StoredCall;
import io.waybill.query.StoredMessages;
import io.waybill.query.stored.CallNotes;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.stored.StoredTensors;
import io.waybill.query.verify.Finding;
import io.waybill.query.verify.Verification;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.replay.slice.SlicedMessage.Kind;
import io.waybill.replay.slice.SlicedStorage.State;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The messages of a slice, with the same operations as those of a home: list, show, export and verify. Covers all
 * calls, selected or needed.
 */
public final class SliceMessages implements StoredMessages, NestedCallSearch.Links {

    private record Found(long id, long sentNs) {}

    private final SliceRecording slice;
    private final SliceReader reader;
    private final StoredTensors tensors;
    private final MessageBuffer buffer = new MessageBuffer();
    private final MessageBuffer responseBuffer = new MessageBuffer();

    private SliceMessages(SliceRecording slice) {
        this.slice = slice;
        this.reader = slice.reader();
        this.tensors = new SlicedTensors(slice);
    }

    /**
     * Opens a slice.
     *
     * @throws MalformedSliceException if it is not a slice, or is damaged
     */
    public static SliceMessages open(Path path, Host host) throws IOException {
        return new SliceMessages(SliceRecording.open(path, host));
    }

    @Override
    public List<WorkerInfo> workers() {
        return slice.workers();
    }

    @Override
    public StoredTensors tensors() {
        return tensors;
    }

    static Kind kind(StoredRecord record) {
        return record.queue() == JournalQueue.REQUESTS ? Kind.REQUEST : Kind.RESPONSE;
    }

    @Override
    public Optional<Payload> payload(StoredRecord record) throws IOException {
        Optional<SlicedMessage> message = reader.message(record.id(), kind(record));
        if (message.isEmpty() || slice.info().payloads() != Payloads.FULL) {
            return message.map(SliceMessages::leftOut);
        }
        buffer.reserve(message.get().record().length);
        buffer.memory().putBytes(0, message.get().record());
        return Optional.of(Payload.of(new RecordView(buffer)));
    }

    private static Payload leftOut(SlicedMessage message) {
        if (message.payloads() == Payloads.NONE) {
            return Payload.leftOut("left out of the slice");
        }
        String storages = message.storages().stream()
                .map(storage -> "; storage " + storage.number() + " of " + storage.sizeBytes() + " bytes: "
                        + (storage.state() == State.DIGEST ? hex(storage.digest()) : storage.reason()))
                .collect(Collectors.joining());
        return Payload.leftOut("left out of the slice; its SHA-256: " + hex(message.digest()) + storages);
    }

    private static String hex(byte[] digest) {
        return HexFormat.of().formatHex(digest);
    }

    @Override
    public FoundMessage show(long id, Effort effort) throws IOException {
        List<String> notes = new ArrayList<>();
        Optional<StoredCall> call = find(id);
        List<StoredCall> ancestors = List.of();
        List<CallTree> children = List.of();
        if (call.isPresent()) {
            NestedCallSearch search = new NestedCallSearch(this, notes);
            ancestors = search.ancestors(call.get().request());
            children = search.descendants(call.get());
        }
        Optional<StoredRecord> request = call.map(StoredCall::request);
        Optional<StoredRecord> response = call.flatMap(StoredCall::response);
        return new FoundMessage(
                id,
                call.flatMap(StoredCall::operation),
                request,
                request.isPresent() ? payload(request.get()) : Optional.empty(),
                response,
                response.isPresent() ? payload(response.get()) : Optional.empty(),
                ancestors,
                children,
                notes,
                call.map(StoredCall::notes).orElse(CallNotes.NONE));
    }

    @Override
    public Optional<StoredCall> find(long id) throws IOException {
        return reader.call(id).map(this::stored);
    }

    private StoredCall stored(RecordedCall call) {
        RecordView request = call.request().in(buffer);
        StoredRecord sent = stored(call.request(), request);
        Optional<String> operation = Payload.operationOf(request);
        Optional<StoredRecord> response = call.response().map(found -> stored(found, found.in(responseBuffer)));
        return new StoredCall(sent, operation, response, notes(sent, response));
    }

    private CallNotes notes(StoredRecord request, Optional<StoredRecord> response) {
        return new CallNotes(
                member(request.from()).map(caller -> caller.outcomes().get(request.id())),
                false,
                response.flatMap(found -> member(request.to()).stream()
                        .flatMap(receiver -> receiver.responders().stream())
                        .filter(responder -> responder.number() == found.responder())
                        .findFirst()));
    }

    private Optional<SliceInfo.Member> member(int worker) {
        return slice.info().workers().stream()
                .filter(member -> member.worker().id() == worker)
                .findFirst();
    }

    private static StoredRecord stored(RecordedMessage message, RecordView record) {
        return StoredRecord.copied(message.worker(), message.queue(), message.fileName(), record);
    }

    @Override
    public Map<Long, Collection<Long>> children(int callee, List<StoredCall> parents) {
        Map<Long, Collection<Long>> children = new HashMap<>();
        for (StoredCall parent : parents) {
            children.put(
                    parent.request().id(),
                    slice.index().children(parent.request().id()));
        }
        return children;
    }

    @Override
    public void list(MessageFilter filter, int newest, Consumer<StoredCall> sink) throws IOException {
        if (filter.asksForContent() && slice.withheld().isPresent()) {
            throw new IOException(
                    "no call is found by what it carries: " + slice.withheld().get());
        }
        List<Found> found = new ArrayList<>();
        for (int i = 0; i < slice.index().all().size(); i++) {
            RecordedCall call = reader.call(slice.index().all().getLong(i)).orElseThrow();
            if (filter.takesCaller(call.request().worker().id()) && isTaken(call, filter)) {
                found.add(new Found(call.id(), call.request().sentNs()));
            }
        }
        found.sort(Comparator.comparingLong(Found::sentNs));
        int first = newest == 0 ? 0 : Math.max(0, found.size() - newest);
        for (Found each : found.subList(first, found.size())) {
            sink.accept(find(each.id()).orElseThrow());
        }
    }

    private boolean isTaken(RecordedCall call, MessageFilter filter) {
        RecordView request = call.request().in(buffer);
        return filter.takes(request)
                && filter.takesOperationOf(request)
                && filter.takesOutcome(stored(call))
                && (!filter.asksForResponse()
                        || call.response().isPresent()
                                && filter.takesResponse(
                                        Payload.of(call.response().get().in(responseBuffer))));
    }

    /** Reads the bytes of all tensors: all other content was checked when the slice was opened. */
    @Override
    public Verification verify(Consumer<Finding> sink) throws IOException {
        long records = 0;
        long damages = 0;
        long unanswered = 0;
        for (int i = 0; i < slice.index().all().size(); i++) {
            RecordedCall call = reader.call(slice.index().all().getLong(i)).orElseThrow();
            damages += damages(call.request(), sink);
            records++;
            if (call.response().isPresent()) {
                damages += damages(call.response().get(), sink);
                records++;
            } else {
                unanswered++;
            }
        }
        for (String problem : slice.problems()) {
            sink.accept(new Finding(
                    Finding.Severity.NOTE,
                    Finding.Kind.NOT_INCLUDED,
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    0,
                    0,
                    problem));
        }
        return new Verification(workers().size(), records, damages, unanswered);
    }

    private long damages(RecordedMessage message, Consumer<Finding> sink) throws IOException {
        long damages = 0;
        Kind kind = SliceReader.kind(message);
        for (SlicedStorage storage :
                reader.message(message.id(), kind).orElseThrow().storages()) {
            try {
                if (storage.state() == State.ENTRY) {
                    slice.file().read(SliceLayout.tensorName(message.id(), kind, storage.number()), piece -> {});
                }
            } catch (MalformedSliceException e) {
                damages++;
                sink.accept(new Finding(
                        Finding.Severity.DAMAGE,
                        Finding.Kind.UNREADABLE,
                        Optional.of(message.worker()),
                        Optional.of(message.queue()),
                        Optional.of(slice.file().path()),
                        0,
                        0,
                        e.getMessage()));
            }
        }
        return damages;
    }

    @Override
    public void close() throws IOException {
        slice.close();
    }
}
