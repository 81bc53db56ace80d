package io.waybill.profiler.profile;

import io.waybill.profiler.profile.ProfileEvent.Kind;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A profile in the Trace Event Format, for Perfetto and chrome://tracing: a process for each worker, a thread for each
 * of its tracks, and a flow from each call to its handler. Times are in microseconds since the start. Stateless.
 */
final class TraceText {

    private static final double US = 1_000;
    private static final int FIRST_PRINTABLE = 0x20;

    private TraceText() {}

    /** Writes a profile. */
    public static String of(Profile profile) {
        List<ProfileEvent> events = profile.events();
        Tracks tracks = new Tracks(events);
        long beginNs = events.stream().mapToLong(ProfileEvent::beginNs).min().orElse(0);
        StringBuilder json = new StringBuilder("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"begin\":\"")
                .append(Instant.EPOCH.plusNanos(beginNs))
                .append("\",\"dropped\":")
                .append(profile.dropped())
                .append("},\"traceEvents\":[");
        String comma = "\n";
        for (Map.Entry<Integer, Integer> worker : tracks.counts().entrySet()) {
            json.append(comma)
                    .append(String.format(
                            Locale.ROOT,
                            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":%s}}",
                            worker.getKey(),
                            quoted(profile.worker(worker.getKey()) + " (" + worker.getKey() + ")")));
            comma = ",\n";
        }
        for (int i = 0; i < events.size(); i++) {
            append(json, events, i, tracks, beginNs);
        }
        return json.append("\n]}\n").toString();
    }

    private static void append(StringBuilder json, List<ProfileEvent> events, int index, Tracks tracks, long beginNs) {
        ProfileEvent event = events.get(index);
        String place = String.format(
                Locale.ROOT,
                "\"pid\":%d,\"tid\":%d,\"ts\":%.3f",
                event.worker(),
                tracks.track(index),
                (event.beginNs() - beginNs) / US);
        json.append(String.format(
                Locale.ROOT,
                ",\n{\"name\":%s,\"ph\":\"X\",%s,\"dur\":%.3f,\"cat\":\"%s\",\"args\":{\"thread\":%d,\"device\":%s,\"outcome\":\"%s\","
                        + "\"shapes\":%s,\"memory_bytes\":%d}}",
                quoted(event.name()),
                place,
                event.durationNs() / US,
                event.kind().name().toLowerCase(Locale.ROOT),
                event.thread(),
                quoted(event.device()),
                event.outcome().name().toLowerCase(Locale.ROOT),
                event.shapes(),
                event.memoryBytes()));
        if (event.kind() == Kind.CALL) {
            json.append(flow("\"s\"", index, place));
        } else if (event.parent() >= 0
                && event.kind() != Kind.WAIT
                && events.get(event.parent()).kind() == Kind.CALL) {
            json.append(flow("\"f\",\"bp\":\"e\"", event.parent(), place));
        }
    }

    private static String flow(String phase, int call, String place) {
        return String.format(
                Locale.ROOT,
                ",\n{\"name\":\"request\",\"cat\":\"request\",\"ph\":%s,\"id\":%d,%s}",
                phase,
                call,
                place);
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < FIRST_PRINTABLE || Character.isSurrogate(c)) {
                quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
            } else {
                quoted.append(c == '"' || c == '\\' ? "\\" : "").append(c);
            }
        }
        return quoted.append('"').toString();
    }
}
