package io.waybill.profiler.profile;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Totals of the events with one name.
 *
 * @param p50Ns median duration
 * @param p99Ns 99th percentile of the duration
 */
public record NameTotals(String name, int count, long totalNs, long p50Ns, long p99Ns, long maxNs) {

    private static final int PERCENT = 100;

    /** Returns the totals of all names, the largest first. */
    static List<NameTotals> of(List<ProfileEvent> events) {
        Map<String, List<Long>> durations = new LinkedHashMap<>();
        for (ProfileEvent event : events) {
            durations.computeIfAbsent(event.name(), name -> new ArrayList<>()).add(event.durationNs());
        }
        List<NameTotals> all = new ArrayList<>();
        durations.forEach((name, sorted) -> {
            Collections.sort(sorted);
            all.add(new NameTotals(
                    name,
                    sorted.size(),
                    sorted.stream().mapToLong(Long::longValue).sum(),
                    percentile(sorted, 50),
                    percentile(sorted, 99),
                    sorted.get(sorted.size() - 1)));
        });
        all.sort(Comparator.comparingLong(NameTotals::totalNs).reversed());
        return all;
    }

    private static long percentile(List<Long> sorted, int percent) {
        return sorted.get((sorted.size() * percent + PERCENT - 1) / PERCENT - 1);
    }
}
