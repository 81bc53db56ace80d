package io.waybill.cli.conformance.format;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * One step of a case.
 *
 * @param on the worker's name
 * @param fields all it says
 * @param within how long the whole of it may take
 */
public record Step(String on, Verb verb, Fields fields, Duration within, Datum datum) {

    private static final Duration WITHIN_DEFAULT = Duration.ofSeconds(60);

    private static final Set<String> EXPECT = Set.of(
            "value",
            "tolerance",
            "type",
            "dtype",
            "shape",
            "strides",
            "offset",
            "storage_elements",
            "requires_grad",
            "contiguous",
            "dense",
            "coalesced",
            "nnz",
            "items",
            "shares",
            "error",
            "counters");
    private static final Set<String> ERROR = Set.of("kind", "code", "type", "node", "text", "contains", "matches");
    private static final Set<String> TOLERANCE = Set.of("absolute", "relative");

    /** Reads one. */
    public static Step of(Datum datum) throws FormatException {
        Fields fields = Fields.of("a step", datum);
        Verb verb = Verb.of(fields.text("do"));
        Fields.of("the step " + verb, datum).only(verb.fields());
        Duration within = fields.has("within") ? Times.of(fields.require("within")) : WITHIN_DEFAULT;
        Step step = new Step(fields.text("on"), verb, fields, within, datum);
        if (fields.has("expect")) {
            checkExpectation(fields.require("expect"));
        }
        return step;
    }

    private static void checkExpectation(Datum datum) throws FormatException {
        Fields expect = Fields.of("expect", datum).only(EXPECT);
        for (Datum item : expect.row("items")) {
            checkExpectation(item);
        }
        if (expect.has("error")) {
            Fields.of("error", expect.require("error")).only(ERROR);
        }
        if (expect.has("tolerance")) {
            Fields.of("tolerance", expect.require("tolerance")).only(TOLERANCE);
        }
    }

    /** What has to come of it; everything but an error when it does not say. */
    public Optional<Datum> expectation() {
        return fields.find("expect");
    }
}
