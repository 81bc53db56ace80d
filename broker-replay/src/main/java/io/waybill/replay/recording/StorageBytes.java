package io.waybill.replay.recording;

import io.waybill.archive.ArchiveReader.Sink;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.Optional;

/** The bytes of storages that do not lie in the records themselves. One thread. */
public interface StorageBytes {

    /**
     * Looks whether there are as many bytes as the record says, before anybody makes room for them.
     *
     * @param record of the message
     * @param number of the storage in it
     * @return why not; empty when they are there
     */
    Optional<String> missing(RecordedMessage message, RecordView record, int number, long sizeBytes) throws IOException;

    /**
     * Gives the bytes of a storage that is not missing.
     *
     * @return why what was given must not be used; empty when it may
     */
    Optional<String> read(RecordedMessage message, RecordView record, int number, Sink sink) throws IOException;
}
