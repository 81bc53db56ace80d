package io.waybill.api.journal;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Conditions on recorded calls, all of which must hold. Each method adds one, and returns this query.
 *
 * <p><b>Threads.</b> One at a time.
 */
@ProviderType
public interface CallQuery {

    /** Accepts messages in this worker's journal: for a list of calls, those that it sent. */
    CallQuery worker(int id);

    /** Accepts messages to this worker. */
    CallQuery peer(int id);

    /** Accepts ids from the first to the last, unsigned. */
    CallQuery ids(long first, long last);

    /** Accepts calls from the handler of this request. */
    CallQuery parent(long id);

    CallQuery type(MessageType type);

    /**
     * Accepts calls of an operation.
     *
     * @param name a name, in which {@code *} stands for any letters
     */
    CallQuery operation(String name);

    /**
     * Accepts calls with an argument of this value; 2 and 2.0 are equal.
     *
     * @param path name of the argument, or its number from 0 on for one without a name; after a dot, names of fields or
     *     numbers of elements inside it: {@code order.lines.0}
     */
    CallQuery argument(String path, Value value);

    /** Accepts messages sent at or after this time, in ns since 1970. */
    CallQuery since(long wallNs);

    /** Accepts messages sent before this time. */
    CallQuery until(long wallNs);

    CallQuery outcome(CallRecord.Outcome wanted);

    /** Accepts calls that failed with this code, or because a call failed with it. */
    CallQuery error(ErrorCode wanted);

    /** Accepts calls whose response was sent later than this after the request. */
    CallQuery slowerThan(long ns);

    /** Accepts calls whose response or error contains this text, as {@code waybill journal show} prints it. */
    CallQuery responseText(String wanted);
}
