package io.waybill.cli.trace;

import io.waybill.cli.show.Printable;
import io.waybill.query.StoredCall;
import io.waybill.query.timeline.CallSpan;
import io.waybill.query.timeline.CallSpan.Kind;
import java.util.function.IntFunction;

/** Formats the text on a bar. Stateless. */
final class SpanText {

    private SpanText() {}

    /** Returns the operation, on the caller's side with the receiver. */
    static String name(CallSpan span, IntFunction<String> names) {
        StoredCall call = span.call();
        String operation = operation(call);
        return span.kind() == Kind.CALL
                ? operation + " -> " + names.apply(call.request().to())
                : operation;
    }

    static String operation(StoredCall call) {
        return call.operation()
                .map(Printable::oneLine)
                .orElse(call.request().type().name());
    }
}
