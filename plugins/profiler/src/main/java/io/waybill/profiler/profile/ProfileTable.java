package io.waybill.profiler.profile;

import java.util.List;
import java.util.Locale;

/** The totals of a profile as lines of text. Stateless. */
final class ProfileTable {

    private static final double US = 1_000;
    private static final String FORMAT = "%8s %12s %12s %12s %12s %12s  %s%n";

    private ProfileTable() {}

    /** Writes a line for each name, times in microseconds. */
    public static String of(List<NameTotals> all) {
        StringBuilder table = new StringBuilder(String.format(
                Locale.ROOT, FORMAT, "COUNT", "TOTAL US", "MEAN US", "P50 US", "P99 US", "MAX US", "NAME"));
        for (NameTotals each : all) {
            table.append(String.format(
                    Locale.ROOT,
                    FORMAT,
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

    private static String micros(long ns) {
        return String.format(Locale.ROOT, "%.1f", ns / US);
    }
}
