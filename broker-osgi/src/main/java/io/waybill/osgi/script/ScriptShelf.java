package io.waybill.osgi.script;

import io.waybill.host.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.locks.ReentrantLock;
import org.osgi.framework.BundleContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scripts of a node, each at its place, with what is wrong with them. A script that is put where one is takes over when the bundle that runs
 * scripts accepted it; until then, and when it is refused, the one that was there serves on.
 *
 * <p><b>Threads.</b> Any; changes wait for each other, {@link #list()} does not. A change waits until calls to what is replaced have ended,
 * up to the drain limit.
 */
public final class ScriptShelf {

    static final String NO_OWNER = "no bundle that runs scripts is there (script-ops)";

    private static final Logger LOG = LoggerFactory.getLogger(ScriptShelf.class);

    private final BundleContext context;
    private final ScriptStaging staging;
    private final Clock clock;
    private final Map<String, Shelved> byLocation = new ConcurrentSkipListMap<>();
    private final ReentrantLock oneAtATime = new ReentrantLock();

    /**
     * What is known of a place. Immutable.
     *
     * @param running null when nothing is
     * @param problem of what was put there last; null when there is none
     */
    private record Shelved(String module, String origin, PublishedScript running, String problem, long problemWallNs) {

        ScriptStatus status() {
            Optional<String> wrong = problem == null && running != null ? problemOf(running) : Optional.of(problem);
            return new ScriptStatus(
                    module,
                    origin,
                    running == null ? "" : running.staged.sha256(),
                    running == null ? problemWallNs : running.sinceWallNs,
                    running == null ? List.of() : running.schemas(),
                    wrong);
        }

        private static Optional<String> problemOf(PublishedScript running) {
            return running.isAccepted()
                    ? Optional.empty()
                    : Optional.of(running.refusal().orElse(NO_OWNER));
        }
    }

    public ScriptShelf(BundleContext context, ScriptStaging staging, Clock clock) {
        this.context = context;
        this.staging = staging;
        this.clock = clock;
    }

    /** Every script, by place. */
    public List<ScriptStatus> list() {
        List<ScriptStatus> all = new ArrayList<>();
        byLocation.values().forEach(shelved -> all.add(shelved.status()));
        return all;
    }

    /** What is wrong at a place. */
    Optional<String> problem(String location) {
        Shelved shelved = byLocation.get(location);
        return shelved == null ? Optional.empty() : shelved.status().problem();
    }

    /**
     * Whether no bundle could say now whether another script is better than the one at a place, as while the bundle that runs
     * scripts is updated.
     */
    boolean mustWait(String location) {
        Shelved shelved = byLocation.get(location);
        return shelved != null && shelved.running != null && !shelved.running.isUsed();
    }

    /** Puts a script at a place, instead of what is there. */
    void put(String location, StagedScript staged, int ranking) {
        oneAtATime.lock();
        try {
            PublishedScript fresh = new PublishedScript(staged, ranking, clock.wallNs());
            fresh.register(context);
            Optional<String> refusal = fresh.refusal();
            if (refusal.isPresent()) {
                fresh.withdraw();
                staging.discard(staged);
                refuse(location, staged.name().module(), staged.origin(), refusal.get());
            } else {
                serve(location, fresh);
            }
        } finally {
            oneAtATime.unlock();
        }
    }

    private void serve(String location, PublishedScript fresh) {
        StagedScript staged = fresh.staged;
        Shelved before = byLocation.put(location, new Shelved(staged.name().module(), staged.origin(), fresh, null, 0));
        if (fresh.isAccepted()) {
            LOG.info("{} serves {}", staged.origin(), String.join("; ", fresh.schemas()));
        } else {
            LOG.warn("{} is not served: {}", staged.origin(), NO_OWNER);
        }
        takeAway(before);
    }

    /** Says what is wrong with what lies at a place; what runs there runs on. Logged when it is news. */
    void refuse(String location, String module, String origin, String problem) {
        oneAtATime.lock();
        try {
            Shelved before = byLocation.get(location);
            if (before == null || !problem.equals(before.problem)) {
                PublishedScript running = before == null ? null : before.running;
                byLocation.put(location, new Shelved(module, origin, running, problem, clock.wallNs()));
                LOG.error(
                        "{} is not taken{}: {}", origin, running == null ? "" : ", and the former serves on", problem);
            }
        } finally {
            oneAtATime.unlock();
        }
    }

    /** Forgets what is at a place; it is listed until it is gone. */
    void remove(String location) {
        oneAtATime.lock();
        try {
            Shelved before = byLocation.get(location);
            takeAway(before);
            byLocation.remove(location);
            if (before != null) {
                LOG.info("{} is served no more", before.origin);
            }
        } finally {
            oneAtATime.unlock();
        }
    }

    private void takeAway(Shelved before) {
        if (before != null && before.running != null) {
            before.running.withdraw();
            staging.discard(before.running.staged);
        }
    }
}
