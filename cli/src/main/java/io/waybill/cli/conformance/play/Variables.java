package io.waybill.cli.conformance.play;

import io.waybill.api.Value;
import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.FormatException;
import java.util.HashMap;
import java.util.Map;

/** What the steps of a case gave names to, and the case's inputs, which are made when they are first used. For one thread. */
final class Variables {

    /** Makes a value of what a file says. */
    @FunctionalInterface
    interface Making {
        Value make(Datum datum) throws FormatException;
    }

    private final Map<String, Datum> inputs;
    private final Map<String, Value> values = new HashMap<>();

    Variables(Map<String, Datum> inputs) {
        this.inputs = inputs;
    }

    void set(String name, Value value) {
        values.put(name, value);
    }

    Value find(String name, Making making) throws FormatException {
        Value value = values.get(name);
        if (value == null) {
            Datum input = inputs.get(name);
            if (input == null) {
                throw new FormatException("nothing is called '$" + name + "' on this worker; there are "
                        + values.keySet() + " and the inputs " + inputs.keySet());
            }
            if (input instanceof Datum.Text text && text.value().startsWith("$")) {
                throw new FormatException("the input '" + name + "' is another's name");
            }
            value = making.make(input);
            values.put(name, value);
        }
        return value;
    }
}
