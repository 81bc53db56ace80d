package io.waybill.profiler.profile;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Recorded events of all workers. Immutable.
 *
 * @param events each one after its cause
 * @param workers names of the workers, by id
 * @param dropped number of events for which there was no room
 */
public record Profile(List<ProfileEvent> events, Map<Integer, String> workers, long dropped) {

    private static final double US = 1_000;
    private static final String ROW = "%8s %12s %12s %12s %12s %12s  %s%n";

    public Profile {
        events = List.copyOf(events);
        workers = Map.copyOf(workers);
    }

    /** Returns the same profile without the stages of requests before their handlers, which PyTorch's profiles lack. */
    public Profile withoutWaits() {
        List<ProfileEvent> others = new ArrayList<>();
        int[] indices = new int[events.size()]; // in the result
        for (int i = 0; i < indices.length; i++) {
            ProfileEvent event = events.get(i);
            indices[i] = others.size();
            if (event.kind() != ProfileEvent.Kind.WAIT) {
                others.add(event.causedBy(event.parent() < 0 ? event.parent() : indices[event.parent()]));
            }
        }
        return new Profile(others, workers, dropped);
    }

    /** Returns the name of a worker; its id if its name is unknown. */
    public String worker(int id) {
        return workers.getOrDefault(id, Integer.toString(id));
    }

    /** Returns the totals of all names, the largest first. */
    public List<NameTotals> totals() {
        return NameTotals.of(events);
    }

    /** Returns the totals as lines of text, with times in microseconds. */
    public String table() {
        StringBuilder table = new StringBuilder(
                String.format(Locale.ROOT, ROW, "COUNT", "TOTAL US", "MEAN US", "P50 US", "P99 US", "MAX US", "NAME"));
        for (NameTotals each : totals()) {
            table.append(String.format(
                    Locale.ROOT,
                    ROW,
                    each.count(),
                    micros(each.totalNs()),
                    micros(each.totalNs() / each.count()),
                    micros(each.p50Ns()),
                    micros(each.p99Ns()),
                    micros(each.maxNs()),
                    each.name()));
        }
        return table.toString();
    }

    /** Returns the profile in the Trace Event Format, for Perfetto and chrome://tracing. */
    public String chromeTrace() {
        return TraceText.of(this);
    }

    /** Returns the profile as one page of HTML, without external resources. */
    public String html() {
        return ProfilePage.of(this);
    }

    private static String micros(long ns) {
        return String.format(Locale.ROOT, "%.1f", ns / US);
    }
}
