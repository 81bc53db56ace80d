package io.waybill.worker;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.dispatch.Absence;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerTable;
import io.waybill.wire.Envelope;
import io.waybill.wire.RecordView;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.agrona.DirectBuffer;

/**
 * Finds who handles a request: by its type, or, for calls by name, by the name at the start of its payload. Allocates nothing unless
 * there is no handler.
 */
final class Route {

    /** Control calls by name, such as {@code bundle.install}. */
    static final int CONTROL_CALL = 0x1f0;

    private static final int NAMED_CALL = MessageType.NAMED_CALL.code();
    private static final int NAME_AT = Envelope.HEADER_LENGTH + 2;

    private Route() {}

    /** The handler; null when there is none. */
    static HandlerEntry find(HandlerTable table, RecordView request) {
        int code = request.typeCode();
        if (code != NAMED_CALL && code != CONTROL_CALL) {
            return table.forType(code);
        }
        int length = nameLength(request);
        if (length == 0) {
            return null;
        }
        DirectBuffer memory = request.buffer().memory();
        return code == NAMED_CALL
                ? table.forOperation(memory, NAME_AT, length)
                : table.forControl(memory, NAME_AT, length);
    }

    /** Why there is none. */
    static Absence absence(HandlerTable table, RecordView request) {
        int code = request.typeCode();
        if (code != NAMED_CALL && code != CONTROL_CALL) {
            return table.absenceOfType(code);
        }
        int length = nameLength(request);
        if (length == 0) {
            return Absence.NEVER_KNOWN;
        }
        DirectBuffer memory = request.buffer().memory();
        return code == NAMED_CALL
                ? table.absenceOfOperation(memory, NAME_AT, length)
                : table.absenceOfControl(memory, NAME_AT, length);
    }

    /** Whether a call by name carries a name. */
    static boolean isNamed(RecordView request) {
        return request.typeCode() != NAMED_CALL && request.typeCode() != CONTROL_CALL || nameLength(request) > 0;
    }

    /** What a handler would have to declare. */
    static HandlerKey key(RecordView request) {
        int code = request.typeCode();
        if (code != NAMED_CALL && code != CONTROL_CALL) {
            return new HandlerKey.OfType(request.type());
        }
        byte[] utf8 = new byte[nameLength(request)];
        request.buffer().memory().getBytes(NAME_AT, utf8);
        String name = new String(utf8, StandardCharsets.UTF_8);
        return code == NAMED_CALL ? new HandlerKey.OfOperation(name) : new HandlerKey.OfControl(name);
    }

    /** 0 when the payload does not begin with a name. */
    private static int nameLength(RecordView request) {
        int payload = request.payloadLength();
        if (payload < 3) {
            return 0;
        }
        int length = Short.toUnsignedInt(
                request.buffer().memory().getShort(Envelope.HEADER_LENGTH, ByteOrder.LITTLE_ENDIAN));
        return length > Invocation.MAX_NAME_BYTES || length + 2 > payload ? 0 : length;
    }
}
