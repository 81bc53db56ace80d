package io.waybill.tool;

import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Commands that bundles or a program add to {@code waybill} in one worker, and their runs. Control operations among the
 * worker's handlers serve them.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Its creator closes it, before the worker.
 */
public final class ToolCommands implements AutoCloseable {

    /** Names of the built-in commands of {@code waybill}. */
    public static final Set<String> BUILT_IN = Set.of(
            "bench",
            "bundle",
            "call",
            "completion",
            "dead",
            "demo",
            "doctor",
            "help",
            "journal",
            "node",
            "operations",
            "prepare",
            "replay",
            "reload",
            "restart",
            "rrefs",
            "stop",
            "top",
            "up",
            "workers");

    static final int MAX_RUNS = 32;
    static final int MAX_RUNS_OF_PROVIDER = 8;

    private final Host host;
    private final ToolOperations operations;
    private final ProviderErrors errors;
    private final Object lock = new Object();
    // The next fields are guarded by lock.
    private final Map<String, ToolEntry> commands = new TreeMap<>();
    private final Map<Long, ToolSession> sessions = new TreeMap<>();
    private final Map<Long, ToolEntry> running = new TreeMap<>();
    private long lastRun;
    private boolean closed;

    /** Registration of a command. Thread-safe. */
    public interface Registration {

        /**
         * Removes the command, ends its runs, and waits up to a second for their threads. Does nothing when repeated.
         */
        void remove();
    }

    /** Creates the commands of a worker with these handlers. */
    public ToolCommands(HandlerRegistry handlers, Host host) {
        this.host = host;
        this.errors = handlers.errors();
        this.operations = new ToolOperations(this, handlers);
    }

    /**
     * Adds a command.
     *
     * @throws IllegalArgumentException when it describes itself wrongly, or its name is taken
     */
    public Registration add(Provider provider, ToolCommand command) {
        ToolDescription description = describe(provider, command);
        String name = description.name();
        if (BUILT_IN.contains(name)) {
            throw new IllegalArgumentException(
                    provider + " claims the command " + name + ", which is built in; give it another name");
        }
        ToolEntry entry = new ToolEntry(provider, description, command, new ToolCounts(provider, errors));
        synchronized (lock) {
            ToolEntry other = commands.get(name);
            if (other != null) {
                throw new IllegalArgumentException(provider + " claims the command " + name + ", which "
                        + other.provider() + " has; stop or uninstall one of the two, or give it another name");
            }
            if (closed) {
                throw new IllegalStateException("the commands of this worker are closed");
            }
            commands.put(name, entry);
        }
        return () -> remove(entry);
    }

    private ToolDescription describe(Provider provider, ToolCommand command) {
        ToolDescription description = null;
        try {
            description = command.description();
        } finally {
            if (description == null) { // or it threw: its bundle's problem reports that
                errors.charge(provider);
            }
        }
        if (description == null) {
            throw new IllegalArgumentException("a command of " + provider + " has no description");
        }
        return description;
    }

    private void remove(ToolEntry entry) {
        List<ToolSession> ended = new ArrayList<>();
        synchronized (lock) {
            String name = entry.description().name();
            if (commands.get(name) != entry) { // not equals, which would be the command's
                return;
            }
            commands.remove(name);
            running.forEach((id, of) -> {
                if (of == entry) {
                    ended.add(sessions.get(id));
                }
            });
            running.values().removeIf(of -> of == entry); // the class loader of the entry would stay
        }
        ended.forEach(session -> session.cancel("its bundle has stopped"));
        long untilNs = host.clock().monotonicNs() + ToolSession.GRACE_NS;
        ended.forEach(session -> session.awaitThread(untilNs - host.clock().monotonicNs()));
    }

    /** Returns the number of threads of a provider's commands that continue after the end of their run. */
    public long stuck(Provider provider) {
        synchronized (lock) {
            return commands.values().stream()
                    .filter(entry -> entry.provider().equals(provider))
                    .mapToLong(entry -> entry.counts().stuckNow())
                    .sum();
        }
    }

    /** Returns the commands, by name. */
    List<ToolEntry> commands() {
        synchronized (lock) {
            return List.copyOf(commands.values());
        }
    }

    /**
     * Starts a run.
     *
     * @throws ToolFailedException when there is no such command, the words don't fit it, or too many runs are active
     */
    long run(String name, List<String> words, ToolSession.Start start) throws ToolFailedException {
        ToolEntry entry;
        ToolSession session;
        long id;
        synchronized (lock) {
            entry = find(name);
            ToolArguments arguments = ToolArguments.parse(entry.description(), words);
            requireRoom(entry.provider());
            session = new ToolSession(
                    "command " + name + " of " + entry.provider(),
                    entry.counts(),
                    arguments,
                    start,
                    entry.description().limit(),
                    host.clock());
            id = ++lastRun;
            sessions.put(id, session);
            running.put(id, entry);
        }
        begin(id, session, entry);
        return id;
    }

    private void begin(long id, ToolSession session, ToolEntry entry) {
        String threadName = entry.provider().name() + "-command-" + id;
        boolean begun = false;
        try {
            session.begin(host.threads(), threadName, entry.command(), () -> forget(id));
            begun = true;
        } finally {
            if (!begun) {
                forget(id);
            }
        }
    }

    private void forget(long id) {
        synchronized (lock) {
            sessions.remove(id);
            running.remove(id);
        }
    }

    private ToolEntry find(String name) throws ToolFailedException {
        ToolEntry entry = commands.get(name);
        if (entry == null) {
            String there = commands.isEmpty() ? "no commands" : String.join(", ", commands.keySet());
            throw new ToolFailedException(
                    ToolFailedException.USAGE, "the node has no command " + name + "; its bundles offer " + there);
        }
        return entry;
    }

    private void requireRoom(Provider provider) throws ToolFailedException {
        long ofProvider = running.values().stream()
                .filter(entry -> entry.provider().equals(provider))
                .count();
        if (ofProvider >= MAX_RUNS_OF_PROVIDER || sessions.size() >= MAX_RUNS) {
            throw new ToolFailedException(
                    "too many commands run: " + ofProvider + " of " + provider + " (max " + MAX_RUNS_OF_PROVIDER + "), "
                            + sessions.size() + " in all (max " + MAX_RUNS + "); try again when some have ended");
        }
    }

    /** Returns a run of a worker; null when there is none. */
    ToolSession session(long id, int from) {
        synchronized (lock) {
            ToolSession session = sessions.get(id);
            return session == null || session.from() != from ? null : session;
        }
    }

    /** Removes all commands. */
    @Override
    public void close() {
        List<ToolEntry> all;
        synchronized (lock) {
            closed = true;
            all = List.copyOf(commands.values());
        }
        CloseSteps steps = new CloseSteps();
        all.forEach(entry -> steps.attempt(() -> remove(entry)));
        steps.attempt(operations::close).finishUnchecked();
    }
}
