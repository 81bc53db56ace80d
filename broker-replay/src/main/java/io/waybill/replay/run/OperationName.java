package io.waybill.replay.run;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import java.nio.charset.StandardCharsets;

/** What a request asks for, in a word. Stateless. */
final class OperationName {

    private OperationName() {}

    /** The operation of a call by name; the type's name otherwise. */
    static String of(MessageType type, byte[] payload, int length) {
        boolean named = type == MessageType.NAMED_CALL
                || type == MessageType.SCRIPT_CALL
                || type == MessageType.SCRIPT_REMOTE_CALL;
        if (!named || length < 2) {
            return type.name();
        }
        int nameBytes = Invocation.nameLength(Byte.toUnsignedInt(payload[0]) | Byte.toUnsignedInt(payload[1]) << 8);
        return nameBytes == 0 || nameBytes > length - 2
                ? type.name()
                : new String(payload, 2, nameBytes, StandardCharsets.UTF_8);
    }
}
