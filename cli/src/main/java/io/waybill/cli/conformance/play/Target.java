package io.waybill.cli.conformance.play;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerKey;
import java.util.List;
import java.util.Map;

/**
 * What is called, by the text that cases name it with.
 *
 * @param type of the request
 * @param name without a prefix
 */
record Target(MessageType type, String name) {

    /** {@code aten::add} is an operator, {@code function:math.scale} a function of TorchScript, {@code text.count} an operation. */
    static Target of(String text) {
        if (text.startsWith(HandlerKey.FUNCTION_PREFIX)) {
            return new Target(MessageType.SCRIPT_CALL, text.substring(HandlerKey.FUNCTION_PREFIX.length()));
        }
        return new Target(text.contains("::") ? MessageType.SCRIPT_CALL : MessageType.NAMED_CALL, text);
    }

    /** A call of it. */
    Request request(String to, List<Value> positional, Map<String, Value> named, Invocation.Mode mode) {
        return Request.invocation(to, type, new Invocation(name, positional, named, mode));
    }
}
