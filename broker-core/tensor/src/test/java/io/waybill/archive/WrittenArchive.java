package io.waybill.archive;

import io.waybill.host.Host;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.agrona.UnsafeApi;

/** An archive that a test writes record by record, in a worker's directory of its own. */
final class WrittenArchive implements AutoCloseable {

    static final String QUEUE_FILE = "20261120-16F.cq4";
    static final int WORKER = 7;
    static final long ANY_TIME = 1_790_000_000_000_000_000L;

    final SafeFiles files = Host.real().files();
    final Path workerDirectory;
    final Path path;
    private ArchiveWriter writer;

    WrittenArchive(Path workerDirectory) throws IOException {
        this.workerDirectory = workerDirectory;
        files.createPrivateDirectory(workerDirectory.resolve(ArchiveLayout.DIRECTORY));
        Path directory = files.createPrivateDirectory(ArchiveLayout.directory(workerDirectory, JournalQueue.REQUESTS));
        this.path = directory.resolve(ArchiveLayout.fileName(QUEUE_FILE));
        reopen();
    }

    /** As the worker's next process does. */
    void reopen() throws IOException {
        if (writer != null) {
            writer.close();
        }
        writer = open();
    }

    /** As after a kill: the one before is just not heard of again. */
    void reopenWithoutClosing() throws IOException {
        writer = open();
    }

    private ArchiveWriter open() throws IOException {
        ArchiveHeader fresh = new ArchiveHeader(0x5eed, WORKER, JournalQueue.REQUESTS, false, ANY_TIME, "20261120-16F");
        return ArchiveFiles.open(path, fresh, files);
    }

    ArchiveWriter writer() {
        return writer;
    }

    void append(long sequence, int storage, byte[] bytes) throws IOException {
        writer.append(id(sequence), sequence, storage, 0, new Given(bytes, bytes.length), ANY_TIME);
    }

    /** Notes that storages 0 of some messages are not kept. */
    void omit(Omission why, long size, long... sequences) throws IOException {
        List<ArchiveWriter.Note> notes = new ArrayList<>();
        for (long sequence : sequences) {
            notes.add(new ArchiveWriter.Note(why, id(sequence), sequence, 0, size, ANY_TIME));
        }
        writer.omit(notes);
    }

    static long id(long sequence) {
        return (long) WORKER << 48 | sequence;
    }

    /** Different for each sequence. */
    static byte[] bytes(long sequence, int length) {
        byte[] bytes = new byte[length];
        new Random(sequence * 31 + length).nextBytes(bytes);
        return bytes;
    }

    ArchiveReader reader() {
        return ArchiveReader.open(workerDirectory, files);
    }

    /** The same files at another place. */
    static Path copyOf(Path worker, Path to) throws IOException {
        try (var all = Files.walk(worker)) {
            for (Path from : (Iterable<Path>) all::iterator) {
                Files.copy(from, to.resolve(worker.relativize(from).toString()));
            }
        }
        return to;
    }

    @Override
    public void close() {
        writer.close();
    }

    /** Bytes of a test. @param readable so many can be read; reading beyond fails */
    record Given(byte[] bytes, int readable) implements ArchiveWriter.Content {

        @Override
        public long size() {
            return bytes.length;
        }

        @Override
        public long read(long offset, long address, long length) throws IOException {
            if (offset + length > readable) {
                throw new IOException("only " + readable + " bytes are readable");
            }
            for (int i = 0; i < length; i++) {
                UnsafeApi.putByte(address + i, bytes[(int) offset + i]);
            }
            return length;
        }

        @Override
        public boolean isStillThere() {
            return true;
        }
    }
}
