package io.waybill.cli.select;

import io.waybill.api.ErrorCode;
import io.waybill.api.journal.CallRecord;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.node.Quantities;
import io.waybill.query.MessageFilter;
import java.util.Arrays;
import java.util.Locale;
import picocli.CommandLine.Option;

/** Options that select calls by their outcome. */
public final class OutcomeSelection {

    private static final String ANY_CODE = "";

    @Option(
            names = "--outcome",
            paramLabel = "OUTCOME",
            description = "Only with this outcome: ok, error, or none for neither.")
    private String outcome;

    @Option(
            names = "--error",
            arity = "0..1",
            fallbackValue = ANY_CODE,
            paramLabel = "CODE",
            description =
                    "Only those that failed, with this code, or because a call of it failed, if there is one: TIMED_OUT, HANDLER_FAILED, ...")
    private String error;

    @Option(
            names = "--slower-than",
            paramLabel = "TIME",
            description = "Only with an outcome later than this time after they were sent, such as 10ms.")
    private String slowerThan;

    @Option(
            names = "--response",
            paramLabel = "TEXT",
            description = "Only with this text in the response as it is shown, or in the error: \"no such account\".")
    private String response;

    /** Adds the selected conditions to a filter. */
    public MessageFilter.Builder addTo(MessageFilter.Builder filter) throws UsageException {
        if (outcome != null) {
            filter.outcome(outcomeNamed());
        }
        if (error != null) {
            addError(filter);
        }
        if (response != null) {
            filter.responseText(response);
        }
        if (slowerThan != null) {
            try {
                filter.slowerThan(Quantities.duration(slowerThan).toNanos());
            } catch (IllegalArgumentException e) {
                throw new UsageException("--slower-than: " + e.getMessage(), e);
            }
        }
        return filter;
    }

    private void addError(MessageFilter.Builder filter) throws UsageException {
        if (outcome != null && outcomeNamed() != CallRecord.Outcome.ERROR) {
            throw new UsageException("--error selects failed calls, and --outcome " + outcome + " others");
        }
        if (error.equals(ANY_CODE)) {
            filter.outcome(CallRecord.Outcome.ERROR);
        } else {
            filter.error(codeNamed(error));
        }
    }

    /** Parses the name of a code, in letters of any case. */
    public static ErrorCode codeNamed(String name) throws UsageException {
        try {
            return ErrorCode.valueOf(name.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new UsageException(
                    "no error code is named " + name + "; there are " + Arrays.toString(ErrorCode.values()), e);
        }
    }

    /** Throws if calls without responses were selected where only responses are shown. */
    public void requireResponses() throws UsageException {
        if (outcome != null && outcomeNamed() == CallRecord.Outcome.NONE) {
            throw new UsageException("a call without a response is found by waybill journal list --outcome none");
        }
    }

    private CallRecord.Outcome outcomeNamed() throws UsageException {
        for (CallRecord.Outcome known : CallRecord.Outcome.values()) {
            if (known.name().equalsIgnoreCase(outcome)) {
                return known;
            }
        }
        throw new UsageException("--outcome is ok, error or none, not " + outcome);
    }
}
