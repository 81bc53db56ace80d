package io.waybill.api.journal;

import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.Tensor;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Reader of the journals of a home.
 *
 * <p><b>Threads.</b> Any, one at a time: a method waits for the one that runs. {@link #close} does not wait; a method
 * that runs then fails. <b>Memory.</b> Bounded, for any size of the journals. <b>Errors.</b> {@link IOException} when a
 * file can't be read, or the reader is closed. Damaged records are skipped; {@code waybill journal verify} reports them.
 */
@ProviderType
public interface JournalReader extends Closeable {

    /** Returns the workers with a journal, lowest id first. */
    List<WorkerInfo> workers() throws IOException;

    /** Returns a query without conditions, which matches every call. */
    CallQuery query();

    /**
     * Returns the call with an id, found by the journals' index; empty if there is no such request on record.
     *
     * @param id as in {@link CallRecord#id()}
     */
    Optional<? extends CallRecord> find(long id) throws IOException;

    /**
     * Passes on the calls that match a query, oldest first. Reads the journals of all callers that can match, so a
     * large home takes a while; an exception of the sink ends it, and is thrown on.
     *
     * @param query of this reader
     * @param newest max number of the newest calls; 0 for all
     */
    void list(CallQuery query, int newest, Consumer<? super CallRecord> sink) throws IOException;

    /**
     * Follows the journals from now on.
     *
     * @param query of this reader; with a condition on the outcome, only responses match
     */
    JournalFollower follow(CallQuery query) throws IOException;

    /** Returns the content of a message; empty when it was removed or damaged meanwhile. */
    Optional<? extends MessageContent> content(MessageRecord message) throws IOException;

    /**
     * Reads bytes of a tensor's storage, wherever they are kept: in the record or in the archive. A read of the whole
     * storage is verified by its checksum, a part is not.
     *
     * @param message with the tensor in its {@link MessageContent#tensors()}
     * @param offset of the first byte in the storage
     * @param to filled up to its limit
     * @throws IOException when the bytes were not kept or are damaged; the message names the reason
     * @throws IllegalArgumentException when the storage ends before the buffer is full
     */
    void read(MessageRecord message, Tensor tensor, long offset, ByteBuffer to) throws IOException;
}
