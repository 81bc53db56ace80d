package io.waybill.replay.recording;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.Tensor;
import io.waybill.query.MessageFilter;
import io.waybill.rref.id.RRefId;
import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Calls that are on record: in the journals of a home, or in a slice of them. Writes nothing.
 *
 * <p><b>Threads.</b> {@link #handled} is read by one thread, everything else by one that may be another. <b>Errors.</b>
 * {@link IOException} when it can't be read; damaged records are passed over, and reported by {@link #problems()}.
 */
public interface CallRecording extends Closeable {

    /** Returns the recorded workers, lowest id first. */
    List<WorkerInfo> workers();

    /** The calls that a worker handled. */
    interface Handled extends Closeable {

        /** The next call; null after the last. */
        RecordedCall next() throws IOException;
    }

    /** The calls to a worker that a filter takes, in the order in which it began them; those that it never began come in the order of their ids. */
    Handled handled(WorkerInfo worker, MessageFilter filter) throws IOException;

    /** Returns one call; empty when its request is not recorded. */
    Optional<RecordedCall> call(long id) throws IOException;

    /** Returns the nested calls of a request's handler, in the order of sending. None for {@link MessageId#NONE}. */
    List<RecordedCall> nested(RecordedCall parent) throws IOException;

    /** The request that created the value which a reference names; empty when none on record did. */
    Optional<RecordedCall> creation(RRefId reference) throws IOException;

    /**
     * Returns the tensors of a message with their elements. Tensors that share a storage share it here too.
     *
     * @return the tensors; the caller releases each storage once
     * @throws NotRecordedException when bytes were not kept: which, and why
     */
    List<Tensor> tensors(RecordedMessage message) throws IOException, NotRecordedException;

    /** Why none of its requests can be run again; empty when it has what that takes. */
    default Optional<String> withheld() {
        return Optional.empty();
    }

    /** Returns the problems of the records so far. */
    List<String> problems();
}
