package io.waybill.cli.conformance.play;

import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import io.waybill.cli.conformance.format.Times;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The remote references that the steps of a case made.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Owns the handles; closing ends them.
 */
final class References implements AutoCloseable {

    private final Stage stage;
    private final List<RRef> made = new ArrayList<>();

    References(Stage stage) {
        this.stage = stage;
    }

    static String worker(Fields fields) throws FormatException {
        Datum to = fields.require("to");
        return to instanceof Datum.Whole id ? Long.toString(id.value()) : fields.text("to");
    }

    Value remote(Invocation call, Fields fields) throws FormatException {
        String to = worker(fields);
        RRef reference = fields.has("timeout")
                ? stage.rpc().remote(to, call, Times.of(fields.require("timeout")))
                : stage.rpc().remote(to, call);
        made.add(reference);
        return Value.of(reference);
    }

    Value own(Value value) {
        RRef reference = stage.rpc().rref(value);
        made.add(reference);
        return Value.of(reference);
    }

    static Response fetch(RRef reference, Fields fields) throws FormatException {
        return fields.has("timeout") ? reference.toHere(Times.of(fields.require("timeout"))) : reference.toHere();
    }

    static Value description(RRef reference) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("owner"), Value.of((long) reference.owner()));
        fields.put(Value.of("is_owner"), Value.of(reference.isOwner()));
        fields.put(Value.of("confirmed"), Value.of(reference.confirmedByOwner()));
        return new Value.Dict(fields);
    }

    @Override
    public void close() {
        made.forEach(RRef::close);
        made.clear();
    }
}
