package io.waybill.cli.top;

import io.waybill.cli.show.Printable;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/**
 * Prints rows of {@code waybill top} within a height and a width: omits columns from the right and rows from the
 * bottom, with a line that gives their number. Stateless.
 */
final class TopTable {

    private static final String GAP = "  ";
    private static final int MIN_NAME = 8;

    private record Column(String heading, Function<TopRow, String> cell) {}

    private static final List<Column> COLUMNS = List.of(
            new Column("WORKER", TopRow::worker),
            new Column("OPERATION", TopRow::operation),
            new Column("RATE/S", row -> rate(row.rate())),
            new Column("P99", row -> time(row.p99Ns())),
            new Column("ERR/S", row -> rate(row.errorRate())),
            new Column("INFL", row -> String.valueOf(row.inFlight())),
            new Column("PARKED", row -> String.valueOf(row.parked())),
            new Column("P50", row -> time(row.p50Ns())),
            new Column("MAX", row -> time(row.latency().maxNs())),
            new Column("LAG", row -> row.lag() < 0 ? "-" : String.valueOf(row.lag())),
            new Column("HEAP", row -> bytes(row.heapBytes())),
            new Column("COUNT", row -> String.valueOf(row.count())));
    private static final int NAMES = 2; // leftmost columns, which shrink before a column is omitted

    private TopTable() {}

    /** @param height number of lines; at least the heading and one row are printed */
    static void print(List<TopRow> rows, int width, int height, PrintWriter out) {
        int room = Math.max(1, height - 1);
        if (rows.size() <= room) {
            print(rows, width, out);
        } else {
            int shown = Math.max(1, room - 1);
            print(rows.subList(0, shown), width, out);
            if (shown < room) {
                out.println(cut("(" + (rows.size() - shown) + " more rows)", width));
            }
        }
    }

    private static void print(List<TopRow> rows, int width, PrintWriter out) {
        List<List<String>> lines = new ArrayList<>();
        lines.add(COLUMNS.stream().map(Column::heading).toList());
        for (TopRow row : rows) {
            lines.add(COLUMNS.stream()
                    .map(column -> Printable.oneLine(column.cell().apply(row)).replace('\t', ' '))
                    .toList());
        }
        int[] widths = new int[COLUMNS.size()];
        for (List<String> line : lines) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], line.get(i).length());
            }
        }
        int shown = fit(widths, width);
        for (List<String> line : lines) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < shown; i++) {
                String cell = cut(line.get(i), widths[i]);
                String padding = " ".repeat(widths[i] - cell.length());
                text.append(i == 0 ? "" : GAP).append(i < NAMES ? cell + padding : padding + cell);
            }
            out.println(text.toString().stripTrailing());
        }
    }

    /** Narrows the names so that figures fit beside them; returns the number of columns that fit. */
    private static int fit(int[] widths, int width) {
        int names = Math.min(widths[0], 24) + GAP.length() + Math.min(widths[1], 40);
        int shown = NAMES;
        int used = names;
        while (shown < widths.length && used + GAP.length() + widths[shown] <= width) {
            used += GAP.length() + widths[shown];
            shown++;
        }
        if (shown <= NAMES + 1) { // short names are better than no figures
            int figures = 0;
            shown = NAMES;
            while (shown < widths.length
                    && shown < NAMES + 2
                    && 2 * MIN_NAME + GAP.length() + figures + GAP.length() + widths[shown] <= width) {
                figures += GAP.length() + widths[shown];
                shown++;
            }
            int left = Math.max(2, width - figures - GAP.length());
            widths[0] = Math.min(widths[0], Math.max(1, Math.min(MIN_NAME, left / 2)));
            widths[1] = Math.min(widths[1], Math.max(1, left - widths[0]));
        } else {
            widths[0] = Math.min(widths[0], 24);
            widths[1] = Math.min(widths[1], 40);
        }
        return shown;
    }

    static String cut(String text, int width) {
        return text.length() <= width ? text : text.substring(0, width - 1) + "…";
    }

    static String rate(double rate) {
        return rate == 0 ? "0" : String.format(Locale.ROOT, rate < 10 ? "%.1f" : "%.0f", rate);
    }

    static String time(long ns) {
        if (ns == 0) {
            return "-";
        }
        if (ns < 1_000) {
            return ns + "ns";
        }
        String[] units = {"us", "ms", "s"};
        double value = ns / 1e3;
        int unit = 0;
        while (value >= 1_000 && unit < units.length - 1) {
            value /= 1e3;
            unit++;
        }
        return String.format(Locale.ROOT, value < 10 ? "%.1f" : "%.0f", value) + units[unit];
    }

    private static String bytes(long bytes) {
        return bytes < 0 ? "-" : (bytes >> 20) + "MiB";
    }
}
