package io.waybill.profiler.profile;

import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A profile as one page of HTML, without scripts or external resources: a picture with some rows for each worker, a
 * flame graph, and a table. It has the style of {@code waybill journal trace}. Stateless.
 */
final class ProfilePage {

    private static final int LABELS = 150; // pixels before the axis
    private static final int AXIS = 1050; // pixels of the whole time
    private static final int ROW = 24;
    private static final int BAR = 20;
    private static final int TOP = 30;
    private static final int TICKS = 6;
    private static final double CHARACTER = 6.7; // pixels
    private static final double US = 1_000;
    private static final int MAX_DRAWN = 20_000; // a browser shows this number without delay

    private static final String HEAD = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>Profile</title><style>
            :root { color-scheme: light dark; }
            body { font: 13px system-ui, sans-serif; margin: 24px; }
            svg text { font: 11px ui-monospace, monospace; fill: currentColor; }
            svg .on { fill: #1b1b1b; }
            .call { fill: #9ec5f4; } .handler { fill: #f2c48d; } .scope { fill: #b5dfb0; } .operator { fill: #cdb8ec; } .wait { fill: #d5d5d5; } .failed { fill: #f0a3a3; } .unfinished { fill-opacity: .45; }
            line { stroke: #8886; } line.flow { stroke: currentColor; stroke-opacity: .5; }
            </style></head><body>
            <h1>Profile</h1>
            <p>%d events in %.1f µs. Blue: a caller waits for a response. Orange: a handler runs. Green: a scope. Violet: an operator of libtorch. Grey: a request waits. Red: it failed. Pale: it had not ended. A bar below
            another one was caused by it; a line leads from a call to its handler.%s</p>
            """;

    private final Profile profile;
    private final List<ProfileEvent> events;
    private final Tracks tracks;
    private final long beginNs;
    private final long endNs;
    private final Map<Integer, int[]> rows = new HashMap<>(); // by worker, the first row of each track
    private final StringBuilder out = new StringBuilder();
    private int rowCount;

    private ProfilePage(Profile profile) {
        this.profile = profile;
        this.events =
                profile.events().subList(0, Math.min(MAX_DRAWN, profile.events().size()));
        this.tracks = new Tracks(events);
        this.beginNs = events.stream().mapToLong(ProfileEvent::beginNs).min().orElse(0);
        this.endNs = events.stream().mapToLong(ProfileEvent::endNs).max().orElse(0);
        tracks.counts().forEach((worker, count) -> rows.put(worker, firstRows(worker, count)));
    }

    private int[] firstRows(int worker, int count) {
        int[] depths = new int[count];
        for (int i = 0; i < events.size(); i++) {
            if (events.get(i).worker() == worker) {
                depths[tracks.track(i)] = Math.max(depths[tracks.track(i)], tracks.depth(i) + 1);
            }
        }
        int[] first = new int[count];
        for (int track = 0; track < count; track++) {
            first[track] = rowCount;
            rowCount += depths[track];
        }
        return first;
    }

    /** Writes a profile. */
    public static String of(Profile profile) {
        return new ProfilePage(profile).written();
    }

    private String written() {
        long missing = profile.dropped() + profile.events().size() - events.size();
        print(
                HEAD,
                events.size(),
                (endNs - beginNs) / US,
                missing == 0 ? "" : " " + missing + " more events are not drawn.");
        int height = TOP + rowCount * ROW;
        print("<svg width=\"%d\" height=\"%d\">\n", LABELS + AXIS + 50, height + 10);
        for (int tick = 0; tick <= TICKS; tick++) {
            int x = LABELS + AXIS * tick / TICKS;
            print("<line x1=\"%1$d\" y1=\"20\" x2=\"%1$d\" y2=\"%2$d\"/>", x, height);
            print("<text x=\"%d\" y=\"14\">%.1f µs</text>\n", x, (endNs - beginNs) / US / TICKS * tick);
        }
        tracks.counts().keySet().forEach(this::label);
        for (int i = 0; i < events.size(); i++) {
            bar(i);
        }
        print("</svg>\n<h2>Time by name</h2>\n%s", FlameGraph.of(events));
        print("<pre>%s</pre>\n</body></html>\n", escaped(profile.table()));
        return out.toString();
    }

    private void label(int worker) {
        int y = TOP + rows.get(worker)[0] * ROW;
        print("<line x1=\"0\" y1=\"%1$d\" x2=\"%2$d\" y2=\"%1$d\"/>", y - 2, LABELS + AXIS);
        print("<text x=\"0\" y=\"%d\">%s</text>\n", y + 14, shortened(profile.worker(worker), LABELS));
    }

    private void bar(int index) {
        ProfileEvent event = events.get(index);
        double width = Math.max(1, x(event.endNs()) - x(event.beginNs()));
        String state = event.outcome() == Outcome.DONE ? "" : " " + lower(event.outcome());
        print(
                "<g><title>%s\n%.1f to %.1f µs on %s</title><rect class=\"%s%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
                escaped(event.name()),
                (event.beginNs() - beginNs) / US,
                (event.endNs() - beginNs) / US,
                escaped(profile.worker(event.worker())),
                lower(event.kind()),
                state,
                x(event.beginNs()),
                y(index),
                width,
                BAR);
        print(
                "<text class=\"on\" x=\"%.1f\" y=\"%d\">%s</text></g>\n",
                x(event.beginNs()) + 3, y(index) + 14, shortened(event.ownName(), width - 6));
        flow(index);
    }

    private void flow(int index) {
        int cause = events.get(index).parent();
        if (cause >= 0
                && events.get(cause).kind() == Kind.CALL
                && events.get(index).kind() != Kind.WAIT) {
            int down = y(index) > y(cause) ? BAR : 0;
            print(
                    "<line class=\"flow\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n",
                    x(events.get(cause).beginNs()),
                    y(cause) + down,
                    x(events.get(index).beginNs()),
                    y(index) + BAR - down);
        }
    }

    private void print(String format, Object... arguments) {
        out.append(String.format(Locale.ROOT, format, arguments));
    }

    private static String lower(Enum<?> word) {
        return word.name().toLowerCase(Locale.ROOT);
    }

    private double x(long atNs) {
        return LABELS + (double) (atNs - beginNs) * AXIS / Math.max(1, endNs - beginNs);
    }

    private int y(int index) {
        return TOP + (rows.get(events.get(index).worker())[tracks.track(index)] + tracks.depth(index)) * ROW;
    }

    /** Shortens a text to a width. */
    static String shortened(String text, double pixels) {
        int fits = (int) (pixels / CHARACTER);
        return text.length() <= fits ? escaped(text) : fits < 3 ? "" : escaped(text.substring(0, fits - 1)) + "…";
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
