package io.waybill.handling;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerTable;
import io.waybill.dispatch.HandlerTable.Absence;
import io.waybill.event.OperationNames;
import io.waybill.wire.Envelope;
import io.waybill.wire.RecordView;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.agrona.DirectBuffer;

/**
 * Finds the handler of a request: by its type, or, for calls by name, by the name at the start of its payload. A script
 * call goes to the handler of its function if there is one, and to the type's otherwise. Allocates nothing unless there
 * is no handler.
 */
public final class Route {

    /** Type code of control calls by name, such as {@code bundle.install}. */
    public static final int CONTROL_CALL = MessageType.CONTROL_CALL.code();

    private static final int NAMED_CALL = MessageType.NAMED_CALL.code();
    private static final int SCRIPT_CALL = MessageType.SCRIPT_CALL.code();
    private static final int NAME_AT = Envelope.HEADER_LENGTH + 2;
    private static final byte[] OPERATORS = "torch.ops.".getBytes(StandardCharsets.US_ASCII);

    private static final OperationNames NAMES = new OperationNames();

    private static final int FETCH = MessageType.SCRIPT_RREF_FETCH_CALL.code();
    private static final int FIRST_OF_REFERENCES = MessageType.RREF_USER_DELETE.code();
    private static final int LAST_OF_REFERENCES = MessageType.RREF_CHILD_ACCEPT.code();

    private Route() {}

    /** Returns whether the worker itself responds to such requests: control messages of references, and fetches. */
    public static boolean isOfReferences(int typeCode) {
        return typeCode == FETCH || typeCode >= FIRST_OF_REFERENCES && typeCode <= LAST_OF_REFERENCES;
    }

    /**
     * Returns whether requests of a type may be run by the next incarnation of their receiver, if this one left in
     * order and had not begun them: not the broker's own requests, and not requests that create a value, which belongs
     * to a process.
     */
    public static boolean mayBeLeft(int typeCode) {
        return typeCode <= (MessageType.LAST_USER_KIND | MessageType.REQUEST_FLAG)
                && !isOfReferences(typeCode)
                && !RecordView.isCreating(typeCode);
    }

    /** Returns the type by which a request is handled: a request to create a value runs as the call that it names. */
    private static int handledAs(int typeCode) {
        return RecordView.isCreating(typeCode)
                ? MessageType.of(typeCode).plain().code()
                : typeCode;
    }

    /** Returns the handler; null when there is none. */
    public static HandlerEntry find(HandlerTable table, RecordView request) {
        int code = handledAs(request.typeCode());
        if (code == SCRIPT_CALL && isToFunction(table, request)) {
            return table.forFunction(request.buffer().memory(), NAME_AT, functionNameLength(request));
        }
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

    /** Returns why there is no handler. */
    public static Absence absence(HandlerTable table, RecordView request) {
        int code = handledAs(request.typeCode());
        if (code == SCRIPT_CALL && isToFunction(table, request)) {
            return table.absenceOfFunction(request.buffer().memory(), NAME_AT, functionNameLength(request));
        }
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

    /** Returns whether a call by name has a name. */
    public static boolean isNamed(RecordView request) {
        return request.typeCode() != NAMED_CALL && request.typeCode() != CONTROL_CALL || nameLength(request) > 0;
    }

    /** Returns the key that a handler would have to declare; the type when the request's name is not a valid one. */
    public static HandlerKey key(HandlerTable table, RecordView request) {
        int code = handledAs(request.typeCode());
        if (code == SCRIPT_CALL && isToFunction(table, request)) {
            String name = name(request, functionNameLength(request));
            return isFunctionName(name) ? new HandlerKey.OfFunction(name) : new HandlerKey.OfType(MessageType.of(code));
        }
        if (code != NAMED_CALL && code != CONTROL_CALL) {
            return new HandlerKey.OfType(MessageType.of(code));
        }
        String name = name(request, nameLength(request));
        if (!HandlerKey.isName(name)) {
            return new HandlerKey.OfType(request.type());
        }
        return code == NAMED_CALL ? new HandlerKey.OfOperation(name) : new HandlerKey.OfControl(name);
    }

    /** Returns the operation that a call by name requests; empty when it has none. */
    static String operation(RecordView request) {
        return name(request, nameLength(request));
    }

    /** Returns the called operation, function or operator; the type's name for other types. */
    public static String called(RecordView request) {
        int code = handledAs(request.typeCode());
        int length = code == SCRIPT_CALL ? functionNameLength(request) : nameLength(request);
        boolean isNamed = code == SCRIPT_CALL || code == NAMED_CALL || code == CONTROL_CALL;
        return isNamed && length > 0 ? name(request, length) : request.type().name();
    }

    private static boolean isFunctionName(String name) {
        return HandlerKey.isName(name) && !HandlerKey.isOperator(name);
    }

    private static String name(RecordView request, int length) {
        return NAMES.of(request.buffer().memory(), NAME_AT, length);
    }

    /** Returns whether a script call names a function that has, had, or may still get a handler of its own. */
    private static boolean isToFunction(HandlerTable table, RecordView request) {
        if (!table.hasFunctions() && !table.isExpectingMore()) {
            return false;
        }
        int length = functionNameLength(request);
        if (length == 0) {
            return false;
        }
        DirectBuffer memory = request.buffer().memory();
        return table.knowsFunction(memory, NAME_AT, length) || table.isExpectingMore() && !isOperator(memory, length);
    }

    /** Checks a name as {@link HandlerKey#isOperator} does. */
    private static boolean isOperator(DirectBuffer memory, int length) {
        boolean operator = length >= OPERATORS.length;
        for (int i = 0; i < OPERATORS.length && operator; i++) {
            operator = memory.getByte(NAME_AT + i) == OPERATORS[i];
        }
        for (int i = 1; i < length && !operator; i++) {
            operator = memory.getByte(NAME_AT + i - 1) == ':' && memory.getByte(NAME_AT + i) == ':';
        }
        return operator;
    }

    /** Returns the length of the name; 0 when the payload does not begin with one. */
    private static int nameLength(RecordView request) {
        int payload = request.payloadLength();
        return payload < 3 ? 0 : checked(firstTwoBytes(request), payload);
    }

    /** Returns the length of the name in a script call, whose first bytes hold further bits. */
    private static int functionNameLength(RecordView request) {
        int payload = request.payloadLength();
        return payload < 3 ? 0 : checked(Invocation.nameLength(firstTwoBytes(request)), payload);
    }

    private static int firstTwoBytes(RecordView request) {
        return Short.toUnsignedInt(request.buffer().memory().getShort(Envelope.HEADER_LENGTH, ByteOrder.LITTLE_ENDIAN));
    }

    private static int checked(int length, int payload) {
        return length > Invocation.MAX_NAME_BYTES || length + 2 > payload ? 0 : length;
    }
}
