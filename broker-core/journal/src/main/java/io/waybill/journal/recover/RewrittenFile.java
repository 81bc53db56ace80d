package io.waybill.journal.recover;

import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RollFile;
import io.waybill.journal.format.QueueBuilder;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.format.RollTime;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import net.openhft.chronicle.bytes.PointerBytesStore;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.wire.DocumentContext;

/**
 * Rewrites a queue's file from its records, outside of the queue, and replaces the file when the new one is on the
 * disk. Each record keeps its sequence in the file; an incomplete one is replaced by a document that is not a record.
 * The new file has its end mark: nothing is appended to it, and a tail continues to a newer file only behind that mark.
 * Chronicle, when it opens a queue, ends no more than one file that lacks it.
 *
 * <p>One thread at a time.
 */
final class RewrittenFile {

    private static final String BESIDE = ".rewriting";
    private static final long SLACK_BYTES = 2 << 20;
    private static final byte[] NO_RECORD = new byte[Long.BYTES];

    private final Path directory;
    private final Path beside;
    private final JournalSettings settings;
    private final SafeFiles files;
    private final DiskSpace disk;
    private final PointerBytesStore source = new PointerBytesStore();

    RewrittenFile(Path directory, JournalSettings settings, SafeFiles files, DiskSpace disk) {
        this.directory = directory;
        this.beside = directory.resolveSibling(directory.getFileName() + BESIDE);
        this.settings = settings;
        this.files = files;
        this.disk = disk;
    }

    /** Removes the remains of an interrupted attempt. */
    void removeLeftovers() throws IOException {
        if (!Files.isDirectory(beside, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        for (Path file : files.list(beside, Byte.MAX_VALUE)) {
            files.remove(file);
        }
        files.tree().removeEmpty(beside);
    }

    /** Replaces a file by a copy with its first {@code max} records, or fewer when it has fewer. */
    void write(RollFile file, int max) throws IOException {
        files.createPrivateDirectory(beside);
        String name = file.path().getFileName().toString();
        disk.reserve(beside.resolve(QueueStructure.TABLE), 0, QueueStructure.TABLE_BYTES);
        RollTime time = new RollTime(settings.roll().startMs(file.cycle()));
        try (QueueReader reader = QueueReader.openFile(directory, file, files, settings);
                ChronicleQueue queue =
                        QueueBuilder.build(QueueBuilder.of(beside, settings).timeProvider(time));
                ExcerptAppender appender = queue.createAppender()) {
            // not before: Chronicle would wait for the header of an existing file
            disk.reserve(beside.resolve(name), 0, Files.size(file.path()) + SLACK_BYTES);
            copy(reader, appender, max);
            time.advanceTo(settings.roll().startMs(file.cycle() + 1));
            endFile(appender);
        }
        try (NativeFile written = files.openNative(beside.resolve(name), Long.MAX_VALUE)) {
            written.dataSync();
        }
        files.tree().move(beside.resolve(name), file.path());
        removeLeftovers();
    }

    private void copy(QueueReader reader, ExcerptAppender appender, int max) throws IOException {
        int written = 0;
        Step step = reader.next();
        while (step != Step.END || (step = reader.searchBehindEnd()) == Step.DAMAGED) {
            if (step == Step.RECORD) {
                long position = settings.roll().sequenceInFile(reader.index());
                if (position >= max) {
                    return;
                }
                for (; written < position; written++) {
                    append(appender, NO_RECORD);
                }
                append(appender, reader);
                written++;
            }
            step = reader.next();
        }
    }

    private void append(ExcerptAppender appender, QueueReader reader) {
        int length = reader.record().buffer().length();
        source.set(reader.record().buffer().address(), length);
        try (DocumentContext document = appender.writingDocument()) {
            document.wire().bytes().write(source, 0L, (long) length);
        }
    }

    /**
     * Writes the end mark of a file: Chronicle marks it when it begins the next file, which is removed with the
     * directory.
     */
    private static void endFile(ExcerptAppender appender) {
        try (DocumentContext document = appender.writingDocument()) {
            document.rollbackOnClose();
        }
    }

    private static void append(ExcerptAppender appender, byte[] bytes) {
        try (DocumentContext document = appender.writingDocument()) {
            document.wire().bytes().write(bytes);
        }
    }
}
