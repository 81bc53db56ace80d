package io.waybill.conformance.cases;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads times: a number with a unit, such as {@code "100ms"}, or 0. Stateless. */
final class TimeText {

    private static final Pattern FORM = Pattern.compile("(-?[0-9]{1,15}(?:\\.[0-9]{1,9})?)(ns|us|ms|s|m)");
    private static final Map<String, Long> UNITS_NS =
            Map.of("ns", 1L, "us", 1_000L, "ms", 1_000_000L, "s", 1_000_000_000L, "m", 60_000_000_000L);

    private TimeText() {}

    /** Reads negative times too: a case may check what a worker says to them. */
    static Duration parse(JsonNode json) {
        Matcher parts = FORM.matcher(json.asText());
        if (json.isTextual() && parts.matches()) {
            BigDecimal unit = BigDecimal.valueOf(UNITS_NS.get(parts.group(2)));
            return Duration.ofNanos(
                    new BigDecimal(parts.group(1)).multiply(unit).longValue());
        } else if (json.isInt() && json.intValue() == 0) {
            return Duration.ZERO;
        }
        throw new CaseFormatException(
                "a time is 0, or a number with ns, us, ms, s or m, such as \"100ms\", not " + json);
    }
}
