package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveReader;
import io.waybill.archive.ArchivedStorage;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.tensor.DescribedTensors;
import io.waybill.wire.MalformedRecordException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What workers have on record, and what their archives have of it. */
final class ArchivedRecords {

    private ArchivedRecords() {}

    /** A storage of a record, and what the archive has of it. @param bytes empty when they are not there */
    record Kept(long id, Tensor tensor, ArchivedStorage found, byte[] bytes) {}

    /** Reads the records of a queue that have tensors. */
    static List<Kept> of(Workers workers, String name, JournalQueue queue) throws IOException {
        Path worker = workerPath(workers, name);
        List<Kept> all = new ArrayList<>();
        try (ArchiveReader reader = ArchiveReader.open(worker, workers.host.files());
                QueueReader records =
                        QueueReader.open(queue.in(worker), workers.host.files(), Workers.SETTINGS.journal())) {
            for (Step step = records.next(); step != Step.END; step = records.next()) {
                for (Tensor tensor : DescribedTensors.of(records.record())) {
                    ArchivedStorage found = reader.find(
                            queue, records.position(), records.record().sequence(), DescribedTensors.storageOf(tensor));
                    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                    if (found.isKept()) {
                        assertThat(reader.read(
                                        queue, records.position().fileName(), found, piece -> copy(piece, bytes)))
                                .isTrue();
                    }
                    all.add(new Kept(records.record().id(), tensor, found, bytes.toByteArray()));
                }
            }
        } catch (MalformedRecordException e) {
            throw new IOException(e);
        }
        return all;
    }

    private static void copy(ByteBuffer piece, ByteArrayOutputStream to) {
        byte[] heap = new byte[piece.remaining()];
        piece.get(heap);
        to.writeBytes(heap);
    }

    static Path workerPath(Workers workers, String name) throws IOException {
        return workers.host.files().listDirectories(workers.home.workersPath(), 100).stream()
                .filter(path -> path.getFileName().toString().endsWith("-" + name))
                .findFirst()
                .orElseThrow();
    }
}
