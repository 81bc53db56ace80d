package io.waybill.query.stored;

import io.waybill.api.WorkerInfo;
import io.waybill.archive.ArchiveReader;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.index.JournalIndex;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The journals of a home, by worker id, with a cache of their indexes. Never writes, locks or maps the queues. One
 * thread at a time.
 */
public final class StoredJournals implements Closeable {

    private static final Pattern DIRECTORY = Pattern.compile("(0|[1-9][0-9]{0,4})-([A-Za-z0-9_:-]{1,127})");
    private static final int MAX_DIRECTORIES = 2 * (WorkerInfo.MAX_ID + 1);
    private static final int MAX_OPEN_INDEXES = 32;
    private static final float LOAD = 0.75f;

    private final Home home;
    private final Map<Integer, StoredJournal> byId = new TreeMap<>();
    private final Map<Integer, WorkerNotes> notes = new HashMap<>();
    private final List<String> problems = new ArrayList<>();
    private final Map<Integer, ArchiveReader> archives = new HashMap<>();
    private final Map<Integer, JournalIndex> indexes = new LinkedHashMap<>(MAX_OPEN_INDEXES, LOAD, true);

    /** Opens the journals that the home has now. */
    public StoredJournals(Home home) throws IOException {
        this.home = home;
        refresh();
    }

    /** Lists the journals again. Unusable entries are left out, and reported by {@link #problems()}. */
    public void refresh() throws IOException {
        problems.clear();
        List<Path> entries;
        try {
            entries = home.host().files().list(home.workersPath(), MAX_DIRECTORIES);
        } catch (NoSuchFileException e) {
            return; // a home that no worker joined
        }
        for (Path entry : entries) {
            Matcher name = DIRECTORY.matcher(entry.getFileName().toString());
            if (!name.matches() || Integer.parseInt(name.group(1)) > WorkerInfo.MAX_ID) {
                continue;
            }
            try {
                home.host().files().requireDirectory(entry);
                add(new StoredJournal(new WorkerInfo(Integer.parseInt(name.group(1)), name.group(2)), entry));
            } catch (IOException e) {
                problems.add(String.valueOf(e.getMessage()));
            }
        }
    }

    private void add(StoredJournal journal) {
        StoredJournal other = byId.putIfAbsent(journal.info().id(), journal);
        if (other != null && !other.equals(journal)) {
            problems.add(journal.path() + ": expected one directory of worker "
                    + journal.info().id() + ", found " + other.path() + " as well");
        }
    }

    /** Returns the home of the journals. */
    public Home home() {
        return home;
    }

    public Host host() {
        return home.host();
    }

    /** Returns all journals, lowest id first. */
    public List<StoredJournal> all() {
        return List.copyOf(byId.values());
    }

    /** Returns the journal of a worker. */
    public Optional<StoredJournal> find(int id) {
        return Optional.ofNullable(byId.get(id));
    }

    /** Returns entries among the workers' directories that are not directories of workers. */
    public List<String> problems() {
        return List.copyOf(problems);
    }

    /** Returns the index of a journal. Closed with this object, or after requests of many others. */
    public JournalIndex index(StoredJournal journal) {
        JournalIndex known = indexes.get(journal.info().id());
        if (known == null) {
            if (indexes.size() == MAX_OPEN_INDEXES) {
                indexes.remove(indexes.keySet().iterator().next()).close();
            }
            known = journal.index(host());
            indexes.put(journal.info().id(), known);
        }
        return known;
    }

    /** Returns the response in the receiver's journal. */
    public Optional<StoredRecord> responseTo(StoredRecord request) throws IOException {
        Optional<StoredJournal> callee = find(request.to());
        if (callee.isEmpty()) {
            return Optional.empty();
        }
        JournalIndex index = index(callee.get());
        return index.find(JournalQueue.RESPONSES, request.id())
                .map(position -> StoredRecord.of(
                        callee.get().info(), JournalQueue.RESPONSES, position, index.record(JournalQueue.RESPONSES)));
    }

    /** Returns the notes of a call's workers, as of the first request after creation or {@link #forgetNotes}. */
    public CallNotes notes(StoredRecord request, Optional<StoredRecord> response) throws IOException {
        Optional<WorkerNotes> caller = notes(request.from());
        Optional<WorkerNotes> receiver = response.isPresent() ? notes(request.to()) : Optional.empty();
        return new CallNotes(
                caller.flatMap(notes -> notes.outcome(request.id())),
                caller.filter(notes -> notes.reachesTo(request.sentNs())).isPresent(),
                receiver.flatMap(notes -> notes.responder(response.orElseThrow().responder())));
    }

    private Optional<WorkerNotes> notes(int worker) throws IOException {
        Optional<StoredJournal> journal = find(worker);
        WorkerNotes known = notes.get(worker);
        if (known == null && journal.isPresent()) {
            known = WorkerNotes.of(journal.get().path(), host());
            notes.put(worker, known);
        }
        return Optional.ofNullable(known);
    }

    /** Drops the cached notes of workers. */
    public void forgetNotes() {
        notes.clear();
    }

    /** Returns the payload of a record; empty when it was removed or damaged meanwhile. */
    public Optional<Payload> payload(StoredRecord record) throws IOException {
        Optional<StoredJournal> journal = find(record.worker().id());
        if (journal.isEmpty()) {
            return Optional.empty();
        }
        JournalIndex index = index(journal.get());
        return index.find(record.queue(), record.id()).map(position -> Payload.of(index.record(record.queue())));
    }

    /** Returns the archive of a worker with a journal here; this object closes it. */
    public ArchiveReader archive(int worker) {
        return archives.computeIfAbsent(
                worker, id -> ArchiveReader.open(find(id).orElseThrow().path(), host().files()));
    }

    @Override
    public void close() {
        indexes.values().forEach(JournalIndex::close);
        indexes.clear();
        archives.values().forEach(ArchiveReader::close);
        archives.clear();
    }
}
