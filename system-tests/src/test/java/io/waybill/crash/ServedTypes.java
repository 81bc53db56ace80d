package io.waybill.crash;

import io.waybill.api.MessageType;
import java.util.Set;

/** The types that servers of a run respond to. Stateless. */
final class ServedTypes {

    /** Responded to on the poller: one after the other. */
    static final MessageType INLINE = MessageType.of(0x142);
    /** Responded to by a thread of its own; when it is busy, requests park. */
    static final MessageType SERIAL = MessageType.of(0x143);
    /** Responded to by many threads, later than some callers wait. */
    static final MessageType SLOW = MessageType.of(0x144);

    /** Responded to on the poller by a handler that runs at least once. */
    static final MessageType AGAIN = MessageType.of(0x145);

    /** Comes with a tensor, which travels in a segment and is archived. */
    static final MessageType TENSOR = MessageType.of(0x146);

    static final Set<Integer> ORDERED = Set.of(0x142, 0x143, 0x144, 0x146, 0x145);
    static final Set<Integer> REPEATABLE = Set.of(0x145);
    static final Set<Integer> ONE_BY_ONE = Set.of(0x143);

    private ServedTypes() {}
}
