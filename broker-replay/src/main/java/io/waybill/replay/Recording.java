package io.waybill.replay;

import io.waybill.api.MessageId;
import io.waybill.api.Tensor;
import io.waybill.api.WorkerInfo;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.replay.slice.SliceRecording;
import io.waybill.rref.RRefId;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What is on record: the journals of a home, or a slice of them. Writes nothing.
 *
 * <p><b>Threads.</b> {@link #handled} is read by one thread, everything else by one that may be another. <b>Errors.</b>
 * {@link IOException} when it can't be read; damaged records are passed over, and told by {@link #problems()}.
 */
public interface Recording extends Closeable {

    /** Opens the recording at a path: the directory of a home, or the file of a slice. */
    static Recording open(Path path, Host host) throws IOException {
        return Files.isRegularFile(path) ? SliceRecording.open(path, host) : HomeRecording.open(path, host);
    }

    /** Who is in it, lowest id first. */
    List<WorkerInfo> workers();

    /** What a worker handled. */
    interface Handled extends Closeable {

        /** The next call; null after the last. */
        RecordedCall next() throws IOException;
    }

    /** The calls to a worker that a filter takes, in the order in which it began them; those that it never began come in the order of their ids. */
    Handled handled(WorkerInfo worker, MessageFilter filter) throws IOException;

    /** One call; empty when its request is not there. */
    Optional<RecordedCall> call(long id) throws IOException;

    /** What the handler of a request called, in the order in which it sent. {@link MessageId#NONE} is nobody's. */
    List<RecordedCall> nested(long parentId) throws IOException;

    /** The request that made the value which a reference names; empty when none on record did. */
    Optional<RecordedCall> creation(RRefId reference) throws IOException;

    /**
     * The tensors of a message with their elements, those that share a storage sharing one.
     *
     * @return the caller's, who releases each tensor's storage once
     * @throws NotRecordedException when bytes were not kept: says which, and why
     */
    List<Tensor> tensors(RecordedMessage message) throws IOException, NotRecordedException;

    /** Why none of its requests can be run again; empty when it has what that takes. */
    default Optional<String> withheld() {
        return Optional.empty();
    }

    /** What was wrong with the records so far. */
    List<String> problems();
}
