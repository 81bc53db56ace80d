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
 * Recorded calls, in the journals of a home or in a slice of them. Never writes.
 *
 * <p><b>Threads.</b> {@link #handled} is read by one thread, all other content by one thread, possibly another one.
 * <b>Errors.</b> {@link IOException} if the recording can't be read; damaged records are skipped, and reported by
 * {@link #problems()}.
 */
public interface CallRecording extends Closeable {

    /** Returns the recorded workers, lowest id first. */
    List<WorkerInfo> workers();

    /** Sequence of the calls that a worker handled. */
    interface Handled extends Closeable {

        /** Returns the next call; null after the last. */
        RecordedCall next() throws IOException;
    }

    /**
     * Returns the calls to a worker that match a filter, in the order in which the worker began them; calls that it
     * never began follow in the order of their ids.
     */
    Handled handled(WorkerInfo worker, MessageFilter filter) throws IOException;

    /** Returns one call; empty if its request is not recorded. */
    Optional<RecordedCall> call(long id) throws IOException;

    /** Returns the nested calls of a request's handler, in the order of sending. Empty for {@link MessageId#NONE}. */
    List<RecordedCall> nested(RecordedCall parent) throws IOException;

    /** Returns the request that created the value of a reference; empty if it is not recorded. */
    Optional<RecordedCall> creation(RRefId reference) throws IOException;

    /**
     * Returns the tensors of a message with their elements. Tensors that share a storage share it here too.
     *
     * @return the tensors; the caller releases each storage once
     * @throws NotRecordedException if bytes were not kept; the text names them and the reason
     */
    List<Tensor> tensors(RecordedMessage message) throws IOException, NotRecordedException;

    /** Returns why the recording can't be replayed at all; empty if it can. */
    default Optional<String> withheld() {
        return Optional.empty();
    }

    /** Returns the problems of the records so far. */
    List<String> problems();
}
