package io.waybill.cli.replay;

import io.waybill.cli.replay.ShownCall.ShownResult;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.Table;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.ReplayReport.Row;
import io.waybill.replay.compare.Verdict;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Printer of a replay's report for a reader who knows neither the handlers nor the format. The report has no times: the
 * same replay prints the same text. For one report.
 */
final class ReportText {

    private static final String INDENT = "    ";
    private static final String RECORDED = "on record";
    private static final int MAX_REASONS = 10;

    private final ReplayReport report;
    private final PrintWriter out;

    ReportText(ReplayReport report, PrintWriter out) {
        this.report = report;
        this.out = out;
    }

    /**
     * Prints the whole report.
     *
     * @param source description of the recording for the user
     * @param manner description of the comparison
     */
    void print(String source, String manner, NotSameCalls calls) {
        out.println("Replay of the calls in " + source);
        out.println();
        if (report.calls() == 0) {
            out.println("Nothing was replayed: no call on record is selected." + besides());
        } else {
            out.println(
                    "Each call was given to the handlers once more, and their response compared with the one on record, "
                            + manner + ".");
            out.println("Calls of the handlers themselves got their responses from the record, too: nothing was sent.");
            out.println();
            table();
            out.println();
            legend();
            summary(calls);
            print(calls.kept());
        }
        for (String problem : report.problems()) {
            out.println("Note: " + Printable.oneLine(problem));
        }
        out.flush();
    }

    private record Line(String worker, String operation, String candidate) {}

    private void table() {
        Map<Line, Map<Verdict, Long>> lines = new LinkedHashMap<>();
        for (Row row : report.rows()) {
            lines.computeIfAbsent(
                            new Line(row.worker().name(), row.operation(), row.candidate()),
                            line -> new EnumMap<>(Verdict.class))
                    .merge(row.verdict(), row.count(), Long::sum);
        }
        Table table = new Table("WORKER", "OPERATION", "HANDLERS", "SAME", "DIFFERENT", "FAILED", "NOT REPLAYABLE");
        lines.forEach((line, counts) -> table.row(
                line.worker,
                line.operation,
                line.candidate,
                counts.getOrDefault(Verdict.SAME, 0L),
                counts.getOrDefault(Verdict.DIFFERENT, 0L),
                counts.getOrDefault(Verdict.FAILED, 0L),
                counts.getOrDefault(Verdict.NOT_REPLAYABLE, 0L)));
        table.print(out);
    }

    private Set<Verdict> found() {
        Set<Verdict> found = EnumSet.noneOf(Verdict.class);
        report.rows().forEach(row -> found.add(row.verdict()));
        return found;
    }

    /** Explains the columns that are not empty. */
    private void legend() {
        for (Verdict verdict : found()) {
            out.println(meaning(verdict));
        }
        if (report.rows().stream().anyMatch(row -> row.candidate().equals("installed"))) {
            out.println("installed       the handlers that the worker itself had");
        }
        out.println();
    }

    private static String meaning(Verdict verdict) {
        switch (verdict) {
            case SAME:
                return "same            they gave the response on record";
            case DIFFERENT:
                return "different       they gave another response";
            case FAILED:
                return "failed          they asked for what is not on record, or gave no response";
            case NOT_REPLAYABLE:
                return "not replayable  nothing can be said: the record lacks something, or they do not respond alike each time";
        }
        throw new IllegalArgumentException(verdict.name());
    }

    private void summary(NotSameCalls calls) {
        long wrong = calls.count() - calls.unknown();
        long comparable = report.calls() - calls.unknown();
        String unknown =
                calls.unknown() == 0 ? "" : " " + calls.unknown() + " can't be replayed: nothing is known of these.";
        if (wrong > 0) {
            out.println(
                    wrong + " of " + comparable + " calls did not give the response on record." + unknown + besides());
        } else if (comparable > 0) {
            out.println("All " + comparable + " calls gave the response on record." + unknown + besides());
        } else {
            out.println("None of the " + report.calls() + " calls can be replayed." + besides());
        }
        unrecorded();
        if (calls.count() > calls.kept().size()) {
            out.println();
            out.println("Found most often:");
            printReasons(reasons(verdict -> verdict != Verdict.SAME));
            out.println();
            int shown = calls.kept().size();
            out.println(shown == 1 ? "The first of them:" : "The first " + shown + " of them:");
        }
    }

    private String besides() {
        String left =
                report.left() == 0 ? "" : " Left out: " + report.left() + ", which the broker itself responds to.";
        return report.brought() == 0
                ? left
                : left + " Run besides: " + report.brought() + ", for the state and the values that they left.";
    }

    private record Reason(Row row, String text, long count) {}

    /** Prints the unrecorded inputs of handlers whose responses were the same. */
    private void unrecorded() {
        List<Reason> reasons = reasons(verdict -> verdict == Verdict.SAME);
        if (!reasons.isEmpty()) {
            out.println();
            out.println("The same although their handlers read what is not on record: "
                    + reasons.stream().mapToLong(Reason::count).sum());
            printReasons(reasons);
        }
    }

    /** Returns the reasons for these verdicts, the most frequent first. */
    private List<Reason> reasons(Predicate<Verdict> verdicts) {
        List<Reason> reasons = new ArrayList<>();
        for (Row row : report.rows()) {
            if (verdicts.test(row.verdict())) {
                row.reasons().forEach((text, count) -> reasons.add(new Reason(row, text, count)));
            }
        }
        reasons.sort(Comparator.comparingLong(Reason::count).reversed()); // equal counts stay in the report's order
        return reasons;
    }

    private void printReasons(List<Reason> reasons) {
        for (Reason reason : reasons.subList(0, Math.min(reasons.size(), MAX_REASONS))) {
            Row row = reason.row();
            out.println(INDENT + reason.count() + " x " + row.worker().name() + " " + Printable.oneLine(row.operation())
                    + ", " + row.candidate() + ", " + word(row.verdict()) + ": " + Printable.oneLine(reason.text()));
        }
    }

    private void print(List<ShownCall> calls) {
        int number = 0;
        for (ShownCall call : calls) {
            out.println();
            out.println(++number + ". Call " + call.id() + " from " + call.from() + " to " + call.to() + ": "
                    + call.request());
            print(call);
        }
    }

    private void print(ShownCall call) {
        int width = call.results().stream()
                .mapToInt(result -> result.candidate().length())
                .reduce(RECORDED.length(), Math::max);
        line(width, RECORDED, call.recorded());
        for (ShownResult result : call.results()) {
            line(width, result.candidate(), result.replayed());
            line(width, "", word(result.verdict()) + (result.reason().isEmpty() ? "" : ": " + result.reason()));
        }
        line(width, "once more", call.again());
    }

    private void line(int width, String label, String text) {
        out.println(INDENT + label + " ".repeat(width - label.length() + 2) + text);
    }

    private static String word(Verdict verdict) {
        return verdict.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
