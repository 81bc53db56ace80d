package io.waybill.replay.recording;

import io.waybill.archive.ArchiveReader.Sink;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.Optional;

/** The bytes of storages outside of the records. One thread. */
public interface StorageBytes {

    /**
     * Checks that all bytes exist that the record declares, before memory is allocated for them.
     *
     * @param record of the message
     * @param number of the storage in the record
     * @return why bytes are missing; empty if they exist
     */
    Optional<String> missing(RecordedMessage message, RecordView record, int number, long sizeBytes) throws IOException;

    /**
     * Passes the bytes of an existing storage to a sink.
     *
     * @return why the bytes must not be used; empty if they may
     */
    Optional<String> read(RecordedMessage message, RecordView record, int number, Sink sink) throws IOException;
}
