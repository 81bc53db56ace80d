package io.waybill.api.journal;

import java.io.Closeable;
import java.io.IOException;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Follower of the journals of a home. Workers that join later are followed, too. Threads and errors as
 * {@link JournalReader}, with which it ends.
 */
@ProviderType
public interface JournalFollower extends Closeable {

    /**
     * Passes on the messages that were recorded since the last call, in the order in which they were sent, without
     * waiting for any. Each is complete and checked. An exception of the sink is thrown on, and the rest is lost.
     *
     * @param sink receives a message, and its operation if it is a call by name
     * @return number of messages
     */
    int poll(BiConsumer<? super MessageRecord, Optional<String>> sink) throws IOException;
}
