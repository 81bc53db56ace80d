package io.waybill.replay.slice;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.home.note.NotedOutcomes.Noted;
import io.waybill.home.note.Responders.Responder;
import io.waybill.query.MessageFilter;
import io.waybill.query.stored.WorkerNotes;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.recording.MessageReferences;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.replay.recording.StorageBytes;
import io.waybill.replay.slice.SliceInfo.Member;
import io.waybill.replay.slice.SliceLayout.Part;
import io.waybill.replay.slice.SlicedMessage.Kind;
import io.waybill.rref.id.RRefId;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import org.agrona.collections.LongHashSet;

/**
 * Creates a slice of a home: the selected calls, their nested calls, recursively, the requests that created values
 * which any of these use, and the bytes of their tensors if they were kept. The same calls give the same bytes.
 *
 * <p><b>Threads.</b> One, once. <b>Memory.</b> Bounded, plus about 16 bytes for each call.
 */
public final class SliceWriter {

    private static final int MAX_PROBLEMS = 1000;
    private static final int MAX_OUTCOMES = 10_000; // max per worker
    private static final byte[] NOTHING = {};

    private final HomeRecording recording;
    private final MessageFilter filter;
    private final Payloads payloads;
    private final LongConsumer progress;
    private final SliceOutput output;
    private final StorageBytes storages;
    private final MessageCut cut;
    private final MessageBuffer buffer = new MessageBuffer();
    private final LongHashSet written = new LongHashSet();
    private final Deque<Long> needed = new ArrayDeque<>();
    private final Set<RRefId> values = new HashSet<>();
    private final Set<Integer> known = new HashSet<>();
    private final Set<Integer> involved = new HashSet<>();
    private final Map<Integer, Set<Long>> responders = new HashMap<>(); // by worker
    private final List<String> problems = new ArrayList<>();
    private long selectedCount;
    private long neededCount;
    private long entries;

    private SliceWriter(
            HomeRecording recording,
            MessageFilter filter,
            Payloads payloads,
            SliceOutput output,
            LongConsumer progress) {
        this.recording = recording;
        this.filter = filter;
        this.payloads = payloads;
        this.output = output;
        this.progress = progress;
        recording.workers().forEach(worker -> known.add(worker.id()));
        this.storages = recording.storages();
        this.cut = new MessageCut(payloads, storages, this::writeEntry);
    }

    /**
     * Writes a slice.
     *
     * @param out path of a new file, outside of the home
     * @param progress called periodically with the number of written calls
     */
    public static SliceInfo write(
            HomeRecording recording, MessageFilter filter, Payloads payloads, Path out, LongConsumer progress)
            throws IOException {
        try (SliceOutput output = SliceOutput.to(out)) {
            return new SliceWriter(recording, filter, payloads, output, progress).write();
        }
    }

    private SliceInfo write() throws IOException {
        for (WorkerInfo worker : recording.workers()) {
            if (filter.takesReceiver(worker.id())) {
                writeSelected(worker);
            }
        }
        while (!needed.isEmpty()) {
            writeNeeded(needed.removeFirst());
        }
        recording.problems().forEach(this::problem);
        List<Member> members = new ArrayList<>();
        BundleFiles bundles = new BundleFiles(recording.home(), this::problem);
        for (WorkerInfo worker : recording.workers()) {
            if (involved.contains(worker.id())) {
                members.add(withNotes(bundles.of(worker)));
            }
        }
        SliceInfo info = new SliceInfo(payloads, selectedCount, neededCount, entries, problems, members);
        output.finish(info);
        return info;
    }

    private Member withNotes(Member member) {
        Map<Long, Noted> outcomes = new HashMap<>();
        List<Responder> named = new ArrayList<>();
        try {
            WorkerNotes notes = WorkerNotes.of(
                    recording.home().workerPath(member.worker()),
                    recording.home().host());
            for (long id : written) {
                if (MessageId.worker(id) == member.worker().id() && outcomes.size() < MAX_OUTCOMES) {
                    notes.outcome(id).ifPresent(outcome -> outcomes.put(id, outcome));
                }
            }
            responders.getOrDefault(member.worker().id(), Set.of()).stream()
                    .sorted()
                    .forEach(number -> notes.responder(number).ifPresent(named::add));
        } catch (IOException e) {
            problem(String.valueOf(e.getMessage()));
        }
        return member.with(named, outcomes);
    }

    private void writeSelected(WorkerInfo worker) throws IOException {
        try (CallRecording.Handled handled = recording.handled(worker, filter)) {
            for (RecordedCall call = handled.next(); call != null; call = handled.next()) {
                if (write(Part.CALLS, call)) {
                    selectedCount++;
                }
            }
        }
    }

    private void writeNeeded(long id) throws IOException {
        if (written.contains(id)) {
            return;
        }
        Optional<RecordedCall> call = recording.call(id);
        if (call.isEmpty()) {
            problem("the request " + MessageId.text(id) + ", which is needed, is not on record");
        } else if (write(Part.NEEDED, call.get())) {
            neededCount++;
        }
    }

    /** Writes a call; returns false if it was already written, or its receiver is unknown. */
    private boolean write(Part part, RecordedCall call) throws IOException {
        if (!known.contains(call.request().receiver())) {
            problem("the request " + MessageId.text(call.id()) + " went to worker "
                    + call.request().receiver() + ", which has no journal here");
            return false;
        }
        if (!written.add(call.id())) {
            return false;
        }
        byte[] request = cut.cut(call.request(), Kind.REQUEST).encode();
        Optional<RecordedMessage> response = call.response();
        output.add(
                part,
                request,
                response.isPresent() ? cut.cut(response.get(), Kind.RESPONSE).encode() : NOTHING);
        involved.add(call.request().worker().id());
        involved.add(call.request().receiver());
        if (response.isPresent()) {
            responders
                    .computeIfAbsent(call.request().receiver(), worker -> new HashSet<>())
                    .add(response.get().in(buffer).responder());
        }
        addNeeded(call);
        progress.accept(written.size());
        return true;
    }

    /**
     * Writes an entry. Reads the bytes twice: a stored entry begins with its checksum, and damage must be found before
     * it is begun.
     */
    private void writeEntry(RecordedMessage message, Kind kind, RecordView record, int number, long size, long checksum)
            throws IOException {
        output.beginEntry(SliceLayout.tensorName(record.id(), kind, number), size, checksum);
        Optional<String> damage = storages.read(message, record, number, output::writePiece);
        if (damage.isPresent()) {
            throw new IOException("a tensor of " + message.worker().name()
                    + " was removed or damaged while the slice was made: " + damage.get());
        }
        output.endEntry();
        entries++;
    }

    private void addNeeded(RecordedCall call) throws IOException {
        for (RecordedCall nested : recording.nested(call)) {
            needed.add(nested.id());
        }
        for (RRefId value : MessageReferences.needed(call.request().in(buffer))) {
            if (values.add(value)) {
                Optional<RecordedCall> creation = recording.creation(value);
                if (creation.isPresent()) {
                    needed.add(creation.get().id());
                } else {
                    problem("the value of " + value + ", which the request " + MessageId.text(call.id())
                            + " needs, was made by no request on record");
                }
            }
        }
    }

    private void problem(String text) {
        if (problems.size() < MAX_PROBLEMS) {
            problems.add(text);
        }
    }
}
