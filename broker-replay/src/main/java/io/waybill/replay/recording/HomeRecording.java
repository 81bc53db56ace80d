package io.waybill.replay.recording;

import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.Tensor;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.rref.id.RRefId;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.agrona.collections.LongArrayList;

/**
 * The journals of a home, read in place. Never writes, locks or maps the queues, so running workers are not affected.
 *
 * <p>Records that are appended while it is open are ignored. Indexes are used where they exist; without them,
 * {@link #call} and {@link #nested} read whole queues.
 */
public final class HomeRecording implements CallRecording {

    private final Home home;
    private final StoredJournals journals;
    private final RecordingProblems problems = new RecordingProblems();
    private final CallLookup lookup;
    private final ValueCreations creations;
    private final HostMemory memory;
    private final RecordedTensors tensors;

    private HomeRecording(Home home) throws IOException {
        this.home = home;
        this.journals = new StoredJournals(home);
        this.lookup = new CallLookup(journals, problems);
        this.creations = new ValueCreations(journals, problems);
        this.memory = new HostMemory(new NativeMemory(home.host().calls()));
        this.tensors = new RecordedTensors(memory, new ArchivedStorages(journals));
        journals.problems().forEach(problems::add);
    }

    /** Opens an existing home. */
    public static HomeRecording open(Path home, Host host) throws IOException {
        return new HomeRecording(Home.openExisting(home, host));
    }

    /** Returns the home. */
    public Home home() {
        return home;
    }

    /** Returns the bytes of tensors outside of the records, until this object is closed. */
    public StorageBytes storages() {
        return new ArchivedStorages(journals);
    }

    @Override
    public List<WorkerInfo> workers() {
        return journals.all().stream().map(StoredJournal::info).toList();
    }

    @Override
    public Handled handled(WorkerInfo worker, MessageFilter filter) throws IOException {
        StoredJournals own = new StoredJournals(home);
        OptionalLong id = filter.onlyId();
        if (id.isPresent()) {
            LongArrayList one = new LongArrayList();
            one.addLong(id.getAsLong());
            return new SelectedCalls(new CallLookup(own, problems)::call, one, worker.id(), filter, own);
        }
        StoredJournal journal = own.find(worker.id())
                .orElseThrow(() -> new IOException(
                        home.path() + ": expected a journal of worker " + worker.name() + ", found none"));
        return new HandledCalls(own, journal, filter, problems);
    }

    @Override
    public Optional<RecordedCall> call(long id) throws IOException {
        return lookup.call(id);
    }

    @Override
    public List<RecordedCall> nested(RecordedCall parent) throws IOException {
        return lookup.nested(parent);
    }

    @Override
    public Optional<RecordedCall> creation(RRefId reference) throws IOException {
        OptionalLong id = creations.of(reference);
        return id.isPresent() ? lookup.call(id.getAsLong()) : Optional.empty();
    }

    @Override
    public List<Tensor> tensors(RecordedMessage message) throws IOException, NotRecordedException {
        return tensors.of(message);
    }

    @Override
    public List<String> problems() {
        return problems.all();
    }

    /** Returns the size of the tensors that were created and not released, in bytes. */
    public long liveTensorBytes() {
        return memory.liveBytes();
    }

    @Override
    public void close() throws IOException {
        journals.close();
    }
}
