package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.show.ShownTime;
import io.waybill.wire.Observation;
import io.waybill.wire.Observations;
import java.io.IOException;
import java.util.Locale;
import java.util.StringJoiner;

/** Formats the observations of a handler. Stateless. */
final class ShownObservations {

    private static final int MAX_IN_A_LINE = 8;

    private ShownObservations() {}

    /** Formats the first observations in one line. */
    static String of(Observations observations) {
        StringJoiner line = new StringJoiner(", ");
        int shown = Math.min(observations.seen().size(), MAX_IN_A_LINE);
        observations.seen().subList(0, shown).forEach(each -> line.add(of(each)));
        int more = observations.seen().size() - shown;
        if (more > 0) {
            line.add(more + " more");
        }
        if (observations.isCut()) {
            line.add("and what had no room in the record");
        }
        return line.toString();
    }

    private static String of(Observation observation) {
        return switch (observation.kind()) {
            case TIME -> "time " + ShownTime.of(observation.value());
            case SEED -> "random seed " + observation.value();
            case ARRIVAL -> "arrived until " + ShownTime.of(observation.value());
            case LEFT -> ShownTime.took(observation.value()) + " left";
        };
    }

    /** Writes the fields of an open object; none if there are no observations. */
    static void write(Observations observations, JsonGenerator json) throws IOException {
        if (observations.isEmpty()) {
            return;
        }
        json.writeArrayFieldStart("observed");
        for (Observation each : observations.seen()) {
            json.writeStartObject();
            json.writeStringField("kind", each.kind().name().toLowerCase(Locale.ROOT));
            json.writeNumberField("value", each.value());
            json.writeEndObject();
        }
        json.writeEndArray();
        if (observations.isCut()) {
            json.writeBooleanField("observed_more", true);
        }
    }
}
