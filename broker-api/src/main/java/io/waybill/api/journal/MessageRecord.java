package io.waybill.api.journal;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import org.osgi.annotation.versioning.ProviderType;

/** The header of a recorded message. Immutable. */
@ProviderType
public interface MessageRecord {

    /** Returns the worker whose journal has the message: its sender. */
    WorkerInfo worker();

    /** Returns the id; a response has the id of its request. */
    long id();

    /** Returns the worker id of the receiver. */
    int to();

    MessageType type();

    /** Returns whether the message is an exception. */
    boolean isError();

    /** Returns the id of the request whose handler sent this one; {@link MessageId#NONE} for none. */
    long parent();

    /** Returns the time at which it was sent, by the wall clock, in ns since 1970. */
    long sentNs();

    int payloadBytes();

    int tensorCount();
}
