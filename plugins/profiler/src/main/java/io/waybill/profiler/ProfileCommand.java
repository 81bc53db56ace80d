package io.waybill.profiler;

import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.state.StateStore;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolRun;
import io.waybill.profiler.profile.NameTotals;
import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfilerConfig;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/**
 * {@code waybill profile}: starts, stops and shows the server-wide profiler of a node. After an update of the bundle, a
 * started profile restarts from scratch.
 *
 * <p><b>Threads.</b> Any.
 */
@Component
public final class ProfileCommand implements ToolCommand {

    private static final String SHAPES = "--shapes";
    private static final String MEMORY = "--memory";
    private static final String TRACE = "--trace";
    private static final String HTML = "--html";
    private static final int MAX_RANGES = 16;

    private final Profiler profiler;
    private final Broker broker;
    private final StateStore kept; // a value for each open range, by its number
    // guarded by this
    private final Deque<Range> open = new ArrayDeque<>();
    private Range last; // the last stopped range; null for none
    private Profile stopped; // profile of the last stopped range; null for none

    /** Open range: its start, and whether it was open during an update of the bundle. */
    private record Range(ServerProfileSession session, String since, boolean isContinued) {

        String text() {
            return "recorded since " + since
                    + (isContinued ? ", when the profiler was updated: what it had before is lost" : "");
        }
    }

    @Activate
    public ProfileCommand(@Reference Profiler profiler, @Reference Broker broker) {
        this.profiler = profiler;
        this.broker = broker;
        this.kept = broker.state("ranges");
        for (int i = 0; i < MAX_RANGES; i++) {
            kept.get(key(i)).ifPresent(flags -> begin((int) ((Value.Int) flags).value(), true));
        }
    }

    /** Deactivates this version; the next one continues. */
    @Deactivate
    synchronized void leave() {
        open.forEach(range -> range.session.end());
    }

    @Override
    public ToolDescription description() {
        return ToolDescription.of("profile", "Profiles all requests that a node serves: profile start|stop|show.")
                .help(
                        "start begins a profile; one that is open already goes on, and both have what follows. stop ends the one that was started last."
                                + " show prints the totals of each name: of the open profile that was started last, or else of the one that was stopped last.")
                .arguments("start|stop|show", 1, 1)
                .flag(SHAPES, "start: record the sizes of input tensors")
                .flag(MEMORY, "start: record the bytes of result tensors")
                .flag(TRACE, "show: print the profile for Perfetto and chrome://tracing, to be redirected to a file")
                .flag(HTML, "show: print a page with a timeline and a flame graph, to be redirected to a file");
    }

    @Override
    public synchronized void run(ToolRun run) throws ToolFailedException {
        String action = run.arguments().get(0);
        switch (action) {
            case "start" -> start(run);
            case "stop" -> stop(run);
            case "show" -> show(run);
            default ->
                throw new ToolFailedException("profile takes the word start, stop or show, and found '" + action + "'");
        }
    }

    private void start(ToolRun run) throws ToolFailedException {
        if (open.size() == MAX_RANGES) {
            throw new ToolFailedException("profile start: expected fewer than " + MAX_RANGES + " open profiles, found "
                    + MAX_RANGES + "; end one with profile stop");
        }
        int flags = (run.isSet(SHAPES) ? 1 : 0) | (run.isSet(MEMORY) ? 2 : 0);
        kept.put(key(open.size()), Value.of(flags));
        begin(flags, false);
        run.line("profile " + open.size() + " of " + name() + " " + open.peek().text());
    }

    private void begin(int flags, boolean isContinued) {
        ProfilerConfig config = ProfilerConfig.cpu();
        config = (flags & 1) == 0 ? config : config.withInputShapes();
        config = (flags & 2) == 0 ? config : config.withMemory();
        open.push(new Range(
                profiler.beginServerProcessGlobal(config),
                broker.clock().instant().toString(),
                isContinued));
    }

    private void stop(ToolRun run) throws ToolFailedException {
        if (open.isEmpty()) {
            throw new ToolFailedException("profile stop: expected an open profile, found none in " + name()
                    + "; begin one with profile start");
        }
        last = open.pop();
        kept.remove(key(open.size()));
        stopped = last.session.end();
        run.line("profile " + (open.size() + 1) + " of " + name() + " has "
                + stopped.events().size() + " events, " + last.text());
    }

    private void show(ToolRun run) throws ToolFailedException {
        Range shown = open.isEmpty() ? last : open.peek();
        if (shown == null) {
            throw new ToolFailedException(
                    "profile show: expected a profile, found none in " + name() + "; begin one with profile start");
        }
        Profile profile = open.isEmpty() ? stopped : shown.session.profile();
        if (run.isSet(TRACE)) {
            profile.chromeTrace().lines().forEach(run::line);
        } else if (run.isSet(HTML)) {
            profile.html().lines().forEach(run::line);
        } else if (run.isJson()) {
            profile.totals().forEach(totals -> run.json(value(totals)));
        } else {
            run.line(profile.events().size() + " events, " + profile.dropped() + " dropped, " + shown.text());
            profile.table().lines().forEach(run::line);
        }
    }

    private static Value value(NameTotals totals) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("name"), Value.of(totals.name()));
        fields.put(Value.of("count"), Value.of(totals.count()));
        fields.put(Value.of("total_ns"), Value.of(totals.totalNs()));
        fields.put(Value.of("p50_ns"), Value.of(totals.p50Ns()));
        fields.put(Value.of("p99_ns"), Value.of(totals.p99Ns()));
        fields.put(Value.of("max_ns"), Value.of(totals.maxNs()));
        return new Value.Dict(fields);
    }

    private String name() {
        return broker.self().worker().name();
    }

    private static String key(int number) {
        return Integer.toString(number);
    }
}
