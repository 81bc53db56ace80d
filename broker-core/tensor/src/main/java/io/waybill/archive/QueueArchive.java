package io.waybill.archive;

import io.waybill.archive.ArchiveWriter.Note;
import io.waybill.archive.ArchiveWriter.Session;
import io.waybill.archive.Backlog.Gap;
import io.waybill.host.Host;
import io.waybill.host.NativeCallException;
import io.waybill.journal.JournalQueue;
import io.waybill.tensor.SentStorages;
import io.waybill.tensor.segment.LeasedBytes;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Archive of one queue: accepts sent storages, and writes them into the file that belongs to the message's.
 *
 * <p><b>Threads.</b> {@link #sent} by any; the rest by the archive's thread.
 */
final class QueueArchive implements SentStorages {

    private static final Logger LOG = LoggerFactory.getLogger(QueueArchive.class);

    private final Archive archive;
    private final JournalQueue queue;
    private final int worker;
    private final Session session;
    private final Host host;
    private final Path workerDirectory;
    private final List<Gap> gaps = new ArrayList<>(1);
    private final List<Note> notes = new ArrayList<>(ArchiveWriter.MAX_NOTES); // for the writer's file
    private ArchiveWriter writer; // null before the first storage
    private Path path;
    private Path queueFile;
    private long behindLast; // the sequence behind the highest seen
    private long accounted; // size of the writer's file that is accounted for
    private long grown;

    QueueArchive(Archive archive, JournalQueue queue, int worker, Session session, Host host, Path workerDirectory) {
        this.archive = archive;
        this.queue = queue;
        this.worker = worker;
        this.session = session;
        this.host = host;
        this.workerDirectory = workerDirectory;
        this.behindLast = session.firstSequence();
    }

    @Override
    public void sent(Path file, long sequence, long id, int storage, LeasedBytes bytes) {
        archive.take(new WaitingStorage(
                this, file, sequence, id, storage, bytes, host.clock().monotonicNs()));
    }

    long largestKept() {
        return session.policy() == ArchivePolicy.NONE ? -1 : session.maxStorageBytes();
    }

    /** Returns the file that is written now; empty before the first storage. */
    Stream<Path> inUse() {
        return Stream.ofNullable(path);
    }

    /** Returns the growth of the files since the last call. */
    long takeGrowth() {
        account();
        long taken = grown;
        grown = 0;
        return taken;
    }

    private void account() {
        if (writer != null) {
            grown += writer.end() - accounted;
            accounted = writer.end();
        }
    }

    /**
     * Copies a storage that {@linkplain WaitingStorage#begin begun}.
     *
     * @return false when it was dropped meanwhile
     */
    boolean append(WaitingStorage storage, ArchiveWriter.Content content) throws IOException {
        ArchiveWriter to = writerFor(storage);
        int flags = storage.bytes.isShared() ? ArchiveRecord.SHARED : 0;
        return to.append(storage.id, storage.sequence, storage.storage, flags, content, nowNs());
    }

    /** Notes that a storage is not kept: {@link #writeNotes} writes it, together with others. */
    void omit(WaitingStorage storage, Omission why) throws IOException {
        writerFor(storage);
        notes.add(new Note(why, storage.id, storage.sequence, storage.storage, storage.size, nowNs()));
        if (notes.size() == ArchiveWriter.MAX_NOTES) {
            writeNotes();
        }
    }

    /** Returns the number of unwritten notes. */
    int notes() {
        return notes.size();
    }

    /** Writes the notes. Notes that can't be written become {@linkplain #writeGaps gaps}. */
    void writeNotes() {
        if (notes.isEmpty()) {
            return;
        }
        try {
            writer.omit(notes);
        } catch (IOException e) {
            LOG.debug("{} notes for {} are written later", notes.size(), path, e);
            notes.forEach(note -> remember(queueFile, note.sequence(), note.why()));
        } finally {
            notes.clear();
        }
    }

    /** Adds an omission that can't be written now to the gaps. */
    void remember(WaitingStorage storage, Omission why) {
        remember(storage.file, storage.sequence, why);
    }

    private void remember(Path file, long sequence, Omission why) {
        Gap last = gaps.isEmpty() ? null : gaps.get(gaps.size() - 1);
        if (last == null || !last.take(file, sequence, why)) {
            gaps.add(new Gap(this, file, sequence, why));
        }
    }

    void remember(Gap gap) {
        gaps.add(gap);
    }

    /** Writes the gaps, as far as there is room for them. */
    void writeGaps() throws IOException {
        while (!gaps.isEmpty()) {
            Gap gap = gaps.get(0);
            writerFor(gap.file).gap(gap.why, gap.first, gap.last, gap.storages, nowNs());
            gaps.remove(0);
        }
    }

    /** Moves to the file of a storage; the previous file is no longer in use. */
    void enter(WaitingStorage storage) throws IOException {
        writerFor(storage);
    }

    private ArchiveWriter writerFor(WaitingStorage storage) throws IOException {
        behindLast = Math.max(behindLast, storage.sequence + 1);
        return writerFor(storage.file);
    }

    private ArchiveWriter writerFor(Path file) throws IOException {
        if (!file.equals(queueFile)) {
            closeFile();
            open(file);
        }
        return writer;
    }

    private void open(Path file) throws IOException {
        host.files().createPrivateDirectory(workerDirectory.resolve(ArchiveLayout.DIRECTORY));
        Path directory = host.files().createPrivateDirectory(ArchiveLayout.directory(workerDirectory, queue));
        String name = file.getFileName().toString();
        path = directory.resolve(ArchiveLayout.fileName(name));
        writer = ArchiveFiles.open(path, header(ArchiveLayout.stem(name)), host.files());
        accounted = writer.end();
        try {
            writer.session(session, nowNs());
            queueFile = file;
        } catch (IOException e) {
            closeFile();
            throw e;
        }
    }

    private ArchiveHeader header(String stem) {
        long nowNs = nowNs();
        int tag = Long.hashCode(nowNs * 0x9e3779b97f4a7c15L + worker) | 1;
        return new ArchiveHeader(tag, worker, queue, false, nowNs, stem);
    }

    /** Continues the newest file, only to write that storages are no longer kept. */
    void noteThatNothingIsKept() throws IOException {
        List<Path> there = ArchiveFiles.in(workerDirectory, queue, host.files());
        if (!there.isEmpty()) {
            String name = there.get(there.size() - 1).getFileName().toString();
            String stem = name.substring(0, name.length() - ArchiveLayout.SUFFIX.length());
            open(workerDirectory.resolve(queue.directoryName()).resolve(stem + ArchiveLayout.QUEUE_SUFFIX));
            closeFile();
        }
    }

    private long nowNs() {
        return host.clock().wallNs();
    }

    void close() throws IOException {
        try {
            writeNotes();
            writeGaps();
            if (writer != null) {
                writer.end(behindLast, nowNs());
            }
        } finally {
            closeFile();
        }
    }

    private void closeFile() {
        if (writer != null) {
            writeNotes();
            writer.close();
            account();
            writer = null;
            path = null;
            queueFile = null;
        }
    }

    /** Returns the omission of a storage whose copying ended with this. */
    static Omission omissionOf(Throwable e) {
        if (e instanceof ArchiveWriter.UnreadableBytesException) {
            return Omission.UNREADABLE;
        }
        return e instanceof NativeCallException call && call.isDiskFull() ? Omission.DISK_FULL : Omission.WRITE_FAILED;
    }
}
