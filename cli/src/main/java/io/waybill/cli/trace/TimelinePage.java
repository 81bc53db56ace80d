package io.waybill.cli.trace;

import io.waybill.api.MessageId;
import io.waybill.api.journal.CallRecord;
import io.waybill.cli.show.ShownTime;
import io.waybill.home.note.Responders.Responder;
import io.waybill.query.StoredCall;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.timeline.CallSpan;
import io.waybill.query.timeline.CallSpan.Kind;
import io.waybill.query.timeline.CallTimeline;
import java.io.IOException;
import java.io.Writer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;

/**
 * A timeline as one page of HTML, without scripts or external resources: a picture with some rows for each worker, and
 * a table. Text of the journals is escaped.
 */
public final class TimelinePage {

    private static final int LABELS = 150; // pixels before the axis
    private static final int AXIS = 1050; // pixels of the whole time
    private static final int ROW = 24;
    private static final int BAR = 20;
    private static final int TOP = 30;
    private static final int TICKS = 6;
    private static final double CHARACTER = 6.7; // pixels

    private static final String HEAD = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>%1$s</title><style>
            :root { color-scheme: light dark; }
            body { font: 13px system-ui, sans-serif; margin: 24px; }
            p { max-width: 70em; }
            svg text { font: 11px ui-monospace, monospace; fill: currentColor; }
            svg .on { fill: #1b1b1b; }
            .call { fill: #9ec5f4; } .handler { fill: #f2c48d; } .error { fill: #f0a3a3; } .open { fill-opacity: .45; }
            line { stroke: #8886; } line.flow { stroke: currentColor; stroke-opacity: .5; }
            th, td { text-align: left; padding: 2px 14px 2px 0; white-space: pre; } .n { text-align: right; }
            tr.error td { color: #c33; }
            </style></head><body>
            <h1>%1$s</h1>
            <p>Began %2$s, took %3$s. Blue: a caller waits, from sending the request to the response. Orange: a handler runs. Red: it failed. Pale: there is no
            response. A bar below another one was caused by it; a line leads from a request to its handler.</p>
            """;

    private final IntFunction<String> names;
    private final CallTimeline timeline;
    private final Map<Integer, TreeMap<Integer, Integer>> rows =
            new LinkedHashMap<>(); // by worker in the order of their first calls, per track
    private int rowCount;

    /**
     * Creates a writer of a timeline.
     *
     * @param names function from an id to the name of a worker
     */
    public TimelinePage(IntFunction<String> names, CallTimeline timeline) {
        this.names = names;
        this.timeline = timeline;
        for (CallSpan span : timeline.spans()) {
            rows.computeIfAbsent(span.worker(), worker -> new TreeMap<>())
                    .merge(span.track(), span.depth() + 1, Math::max);
        }
        for (TreeMap<Integer, Integer> ofWorker : rows.values()) {
            for (Map.Entry<Integer, Integer> track : ofWorker.entrySet()) {
                int depth = track.setValue(rowCount); // from here on, depth is the first row
                rowCount += depth;
            }
        }
    }

    public void writeTo(Writer out) throws IOException {
        StoredCall outermost = timeline.spans().get(0).call();
        String title = SpanText.operation(outermost) + ", call "
                + MessageId.text(outermost.request().id());
        print(
                out,
                HEAD,
                escaped(title),
                ShownTime.of(timeline.beginNs()),
                ShownTime.took(timeline.endNs() - timeline.beginNs()));
        picture(out);
        table(out);
        out.write("</body></html>\n");
    }

    private void picture(Writer out) throws IOException {
        int height = TOP + rowCount * ROW;
        print(out, "<svg width=\"%d\" height=\"%d\">\n", LABELS + AXIS + 50, height + 10);
        for (int tick = 0; tick <= TICKS; tick++) {
            int x = LABELS + AXIS * tick / TICKS;
            long atNs = (timeline.endNs() - timeline.beginNs()) / TICKS * tick;
            print(
                    out,
                    "<line x1=\"%d\" y1=\"20\" x2=\"%d\" y2=\"%d\"/><text x=\"%d\" y=\"14\">%s</text>\n",
                    x,
                    x,
                    height,
                    x,
                    ShownTime.took(atNs));
        }
        for (Map.Entry<Integer, TreeMap<Integer, Integer>> worker : rows.entrySet()) {
            int y = TOP + worker.getValue().firstEntry().getValue() * ROW;
            print(
                    out,
                    "<line x1=\"0\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/><text x=\"0\" y=\"%d\">%s</text>\n",
                    y - 2,
                    LABELS + AXIS,
                    y - 2,
                    y + 14,
                    shortened(names.apply(worker.getKey()), LABELS));
        }
        Map<Long, CallSpan> calls = new HashMap<>();
        for (CallSpan span : timeline.spans()) {
            bar(span, out);
            if (span.kind() == Kind.CALL) {
                calls.put(span.call().request().id(), span);
            } else {
                flow(calls.get(span.call().request().id()), span, out);
            }
        }
        out.write("</svg>\n");
    }

    private void bar(CallSpan span, Writer out) throws IOException {
        double width = Math.max(1, x(span.endNs()) - x(span.beginNs()));
        String colour = span.call().outcome() == CallRecord.Outcome.ERROR
                ? "error"
                : span.kind().name().toLowerCase(Locale.ROOT);
        print(
                out,
                "<g><title>%s</title><rect class=\"%s%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
                escaped(description(span)),
                colour,
                span.call().response().isEmpty() ? " open" : "",
                x(span.beginNs()),
                y(span),
                width,
                BAR);
        print(
                out,
                "<text class=\"on\" x=\"%.1f\" y=\"%d\">%s</text></g>\n",
                x(span.beginNs()) + 3,
                y(span) + 14,
                shortened(SpanText.name(span, names), width - 6));
    }

    private void flow(CallSpan from, CallSpan to, Writer out) throws IOException {
        if (from != null && from.worker() != to.worker()) {
            int down = y(to) > y(from) ? BAR : 0;
            print(
                    out,
                    "<line class=\"flow\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n",
                    x(from.beginNs()),
                    y(from) + down,
                    x(to.beginNs()),
                    y(to) + BAR - down);
        }
    }

    private static void print(Writer out, String format, Object... arguments) throws IOException {
        out.write(String.format(Locale.ROOT, format, arguments));
    }

    private double x(long atNs) {
        return LABELS
                + (double) (atNs - timeline.beginNs()) * AXIS / Math.max(1, timeline.endNs() - timeline.beginNs());
    }

    private int y(CallSpan span) {
        return TOP + (rows.get(span.worker()).get(span.track()) + span.depth()) * ROW;
    }

    private String description(CallSpan span) {
        StoredCall call = span.call();
        return SpanText.name(span, names) + "\n" + MessageId.text(call.request().id()) + " from "
                + names.apply(call.request().from()) + ", " + call.outcomeText()
                + call.notes().responder().map(by -> ", by " + by).orElse("") + "\n"
                + ShownTime.took(span.beginNs() - timeline.beginNs()) + " to "
                + ShownTime.took(span.endNs() - timeline.beginNs())
                + (span.isBeginOnRecord()
                        ? ""
                        : "\nthe handler's begin is not on record: it is drawn from the request on");
    }

    private void table(Writer out) throws IOException {
        out.write(
                "<table><tr><th>call<th>from<th>to<th>operation<th class=\"n\">sent<th class=\"n\">waited<th class=\"n\">ran"
                        + "<th class=\"n\">took<th>outcome<th>bundle\n");
        for (CallSpan span : timeline.spans()) {
            if (span.kind() == Kind.CALL) {
                row(span.call(), out);
            }
        }
        out.write("</table>\n");
    }

    private void row(StoredCall call, Writer out) throws IOException {
        StoredRecord request = call.request();
        long begunNs = call.response().map(StoredRecord::begunNs).orElse(0L);
        print(
                out,
                "<tr%s><td>%s<td>%s<td>%s<td>%s<td class=\"n\">%s<td class=\"n\">%s<td class=\"n\">%s<td class=\"n\">%s<td>%s<td>%s\n",
                call.outcome() == CallRecord.Outcome.ERROR ? " class=\"error\"" : "",
                MessageId.text(request.id()),
                escaped(names.apply(request.from())),
                escaped(names.apply(request.to())),
                escaped(SpanText.operation(call)),
                ShownTime.took(request.sentNs() - timeline.beginNs()),
                begunNs == 0 ? "" : ShownTime.took(begunNs - request.sentNs()),
                begunNs == 0 ? "" : ShownTime.took(call.response().orElseThrow().sentNs() - begunNs),
                call.tookNs().map(ShownTime::took).orElse(""),
                escaped(call.outcomeText()),
                escaped(call.notes().responder().map(Responder::toString).orElse("")));
    }

    /** Shortens a text to a width. */
    private static String shortened(String text, double pixels) {
        int fits = (int) (pixels / CHARACTER);
        return text.length() <= fits ? escaped(text) : fits < 3 ? "" : escaped(text.substring(0, fits - 1)) + "…";
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
