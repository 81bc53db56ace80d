package io.waybill.query.timeline;

import io.waybill.query.CallTree;
import io.waybill.query.StoredCall;
import io.waybill.query.timeline.CallSpan.Kind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The calls of a tree on one axis of time. Each call is a span of its caller's and, when it has a response, one of its
 * receiver's. The workers' clocks are the host's, so their times agree. Immutable.
 *
 * <p>A span stands in the track of the span that caused it, when it lies within that one and overlaps no other there;
 * otherwise in another track. Overlapping calls are therefore side by side, and no call appears to be caused by an
 * unrelated one.
 */
public final class CallTimeline {

    private final List<CallSpan> spans;
    private final long beginNs;
    private final long endNs;

    private CallTimeline(List<CallSpan> spans, long beginNs, long endNs) {
        this.spans = List.copyOf(spans);
        this.beginNs = beginNs;
        this.endNs = endNs;
    }

    /** Span before it has a track. */
    private static final class Bar {
        private final Kind kind;
        private final StoredCall call;
        private final int worker;
        private final Bar cause; // on the same worker; null for none
        private final long beginNs;
        private final long endNs;
        private int track;
        private int depth;

        Bar(Kind kind, StoredCall call, int worker, Bar cause, long beginNs, long endNs) {
            this.kind = kind;
            this.call = call;
            this.worker = worker;
            this.cause = cause;
            this.beginNs = beginNs;
            this.endNs = Math.max(beginNs, endNs);
        }

        CallSpan span() {
            return new CallSpan(kind, call, worker, track, depth, beginNs, endNs);
        }
    }

    /** Creates the timeline of a tree. */
    public static CallTimeline of(CallTree tree) {
        List<Bar> bars = new ArrayList<>();
        add(tree, null, lastNs(tree), bars);
        bars.sort(Comparator.<Bar>comparingLong(bar -> bar.beginNs)
                .thenComparing(
                        Comparator.<Bar>comparingLong(bar -> bar.endNs).reversed())); // stable: causes stay first
        Map<Integer, List<Deque<Bar>>> tracks = new HashMap<>(); // open spans of each track
        for (Bar bar : bars) {
            place(bar, tracks.computeIfAbsent(bar.worker, worker -> new ArrayList<>()));
        }
        List<CallSpan> spans = bars.stream().map(Bar::span).toList();
        long endNs = bars.stream().mapToLong(bar -> bar.endNs).max().orElseThrow();
        return new CallTimeline(spans, spans.get(0).beginNs(), endNs);
    }

    private static long lastNs(CallTree tree) {
        StoredCall call = tree.call();
        long lastNs = Math.max(
                call.request().sentNs(),
                Math.max(
                        call.tookNs()
                                .map(tookNs -> call.request().sentNs() + tookNs)
                                .orElse(Long.MIN_VALUE),
                        call.response().map(response -> response.sentNs()).orElse(Long.MIN_VALUE)));
        for (CallTree child : tree.children()) {
            lastNs = Math.max(lastNs, lastNs(child));
        }
        return lastNs;
    }

    private static void add(CallTree tree, Bar handler, long lastNs, List<Bar> bars) {
        StoredCall call = tree.call();
        long sentNs = call.request().sentNs();
        long endNs = call.tookNs().map(tookNs -> sentNs + tookNs).orElse(lastNs);
        long respondedNs = call.response().map(response -> response.sentNs()).orElse(lastNs);
        int caller = call.request().from();
        int receiver = call.request().to();
        Bar calling = new Bar(
                Kind.CALL, call, caller, handler != null && handler.worker == caller ? handler : null, sentNs, endNs);
        bars.add(calling);
        Bar running = null;
        if (call.response().isPresent()) {
            long begunNs = call.response().get().begunNs();
            running = new Bar(
                    Kind.HANDLER,
                    call,
                    receiver,
                    caller == receiver ? calling : null,
                    begunNs == 0 ? sentNs : begunNs,
                    respondedNs);
            bars.add(running);
        }
        for (CallTree child : tree.children()) {
            add(child, running, lastNs, bars);
        }
    }

    private static void place(Bar bar, List<Deque<Bar>> tracks) {
        int free = -1;
        for (int track = 0; track < tracks.size(); track++) {
            Deque<Bar> open = tracks.get(track);
            while (!open.isEmpty() && open.peek().endNs <= bar.beginNs && open.peek() != bar.cause) {
                open.pop();
            }
            if (bar.cause != null && open.peek() == bar.cause && bar.endNs <= bar.cause.endNs) {
                put(bar, track, open);
                return;
            }
            free = free < 0 && open.isEmpty() ? track : free;
        }
        if (free < 0) {
            free = tracks.size();
            tracks.add(new ArrayDeque<>());
        }
        put(bar, free, tracks.get(free));
    }

    private static void put(Bar bar, int track, Deque<Bar> open) {
        bar.track = track;
        bar.depth = open.size();
        open.push(bar);
    }

    /** Returns the spans by their begin; a cause precedes its effects. */
    public List<CallSpan> spans() {
        return spans;
    }

    /** Returns the begin of the first span, by the wall clock in ns since 1970. */
    public long beginNs() {
        return beginNs;
    }

    /** Returns the end of the last span. */
    public long endNs() {
        return endNs;
    }
}
