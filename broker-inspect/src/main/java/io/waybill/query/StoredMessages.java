package io.waybill.query;

import io.waybill.api.WorkerInfo;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.stored.StoredTensors;
import io.waybill.query.verify.Finding;
import io.waybill.query.verify.Verification;
import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Recorded messages of a home, or of a slice. For one thread at a time. */
public interface StoredMessages extends Closeable {

    /** Thoroughness of a search. */
    enum Effort {
        /** Searches by the index, and in records that are not indexed yet. */
        INDEX,
        /** Reads every record: also finds what an index misses. */
        EVERY_RECORD
    }

    /** Returns the workers whose messages are here, lowest id first. */
    List<WorkerInfo> workers();

    /** Returns the worker with a name, or with an id in decimal. */
    default Optional<WorkerInfo> worker(String nameOrId) {
        return workers().stream()
                .filter(info -> info.name().equals(nameOrId)
                        || Integer.toString(info.id()).equals(nameOrId))
                .findFirst();
    }

    /** Returns the name of a worker; its id in decimal if it is unknown here. */
    default String nameOf(int id) {
        return workers().stream()
                .filter(info -> info.id() == id)
                .map(WorkerInfo::name)
                .findFirst()
                .orElse(Integer.toString(id));
    }

    /** Returns the locations of tensors' bytes. Closed with this object. */
    StoredTensors tensors();

    /** Returns the payload of a record; empty when it was removed or damaged meanwhile. */
    Optional<Payload> payload(StoredRecord record) throws IOException;

    /** Returns all records and notes of a message. */
    FoundMessage show(long id, Effort effort) throws IOException;

    /**
     * Passes on the calls that match a filter, oldest first.
     *
     * @param newest max number of the newest calls; 0 for all
     */
    void list(MessageFilter filter, int newest, Consumer<StoredCall> sink) throws IOException;

    /** Reads all records, and passes on findings. */
    Verification verify(Consumer<Finding> sink) throws IOException;
}
