package io.waybill.crash;

import io.waybill.crash.agent.Point;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One server and its callers, or workers that all call each other, in one home, started again as often as they end. One thread. Closing kills those that run. */
final class Fleet implements AutoCloseable {

    static final String SERVER = "server";

    private final Path home;
    private final Path logs;
    private final RunOptions options;
    private final boolean hasServer;
    private final List<String> callers = new ArrayList<>();
    private final Map<String, Child> running = new HashMap<>();
    private final Map<String, Integer> incarnations = new HashMap<>();
    private final AgentOptions agent;
    private final boolean runsCommands;
    private CommandRuns commands; // null until the server is ready, and when none are run
    private final Path bundles; // null when the server's handlers don't come with any

    Fleet(Path home, Path logs, RunOptions options, AgentOptions agent) throws IOException {
        this.bundles = options.bundled() ? SwitchedBundles.forge(logs) : null;
        this.options = options;
        this.hasServer = options.pattern() == RunOptions.Pattern.STAR;
        // a full disk and a planted bug are for the processes of the fleet alone
        this.runsCommands = hasServer
                && options.fault() != RunOptions.Fault.FULL
                && options.mutant().isEmpty();
        this.home = home;
        this.logs = logs;
        this.agent = agent;
        for (int i = 1; i <= options.callers(); i++) {
            callers.add("caller" + i);
        }
    }

    /** Starts all, and waits until they are ready. */
    void start() throws Exception {
        if (hasServer) {
            start(SERVER).awaitReady();
        }
        if (runsCommands) {
            commands = CommandRuns.start(home);
        }
        for (String caller : callers) {
            start(caller);
        }
        for (String caller : callers) {
            running.get(caller).awaitReady();
        }
    }

    /** Starts the next incarnation of a worker without waiting for it. */
    Child start(String name) throws IOException {
        return start(name, agent.none());
    }

    /** Starts an incarnation of a worker that ends when it comes by a point for the n-th time. */
    Child startKilledAt(String name, Point point, int passings) throws IOException {
        return start(name, agent.killedAt(point, passings));
    }

    private Child start(String name, List<String> jvmOptions) throws IOException {
        int incarnation = incarnations.merge(name, 1, Integer::sum);
        List<String> arguments = new ArrayList<>(
                List.of(role(name), home.toString(), name, logs.toString(), String.valueOf(incarnation)));
        if (!name.equals(SERVER)) {
            arguments.add(hasServer ? SERVER : String.join(",", callers));
            arguments.add(String.valueOf(Math.max(1, options.rate() / options.callers())));
        } else if (bundles != null) {
            arguments.add(bundles.toString());
        }
        Child child = Child.start(name + "-" + incarnation, logs, jvmOptions, arguments);
        running.put(name, child);
        return child;
    }

    private String role(String name) {
        if (!name.equals(SERVER)) {
            return hasServer ? CrashProcess.CALLER : CrashProcess.PEER;
        }
        return bundles == null ? CrashProcess.SERVER : CrashProcess.NODE;
    }

    List<String> callers() {
        return callers;
    }

    Child child(String name) {
        return running.get(name);
    }

    /** Calls of all callers that were responded to in their lives now. */
    long responded() throws Exception {
        long responded = 0;
        for (String caller : callers) {
            responded += running.get(caller).count();
        }
        return responded;
    }

    /** Lets the callers hear all their outcomes, and everybody leave. Returns what was wrong with runs of commands. */
    List<String> end() throws Exception {
        for (String caller : callers) {
            running.get(caller).drain();
        }
        for (String caller : callers) {
            running.get(caller).awaitDrained();
        }
        for (String caller : callers) {
            running.get(caller).leave();
        }
        for (String caller : callers) {
            running.get(caller).awaitLeft();
        }
        List<String> problems = commands == null ? List.of() : commands.end();
        if (hasServer) {
            running.get(SERVER).leave();
            running.get(SERVER).awaitLeft();
        }
        return problems;
    }

    @Override
    public void close() throws IOException {
        running.values().forEach(Child::close);
        if (commands != null) {
            commands.close();
        }
    }
}
