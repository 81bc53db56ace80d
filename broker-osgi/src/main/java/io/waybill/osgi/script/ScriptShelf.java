package io.waybill.osgi.script;

import io.waybill.api.admin.ScriptInfo;
import io.waybill.host.Clock;
import java.time.Instant;
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
 * Scripts of a node, by slot, with their problems. A new script replaces the one in its slot when the bundle that runs
 * scripts has accepted it; until then, and when it is rejected, the previous one keeps serving.
 *
 * <p><b>Threads.</b> Any; changes wait for each other, {@link #list()} does not. A change waits until calls to the
 * replaced script have ended, up to the drain limit.
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
     * State of a slot. Immutable.
     *
     * @param running null if there is none
     * @param problem problem of the last script that was put in the slot; null if there is none
     */
    private record Shelved(String module, String origin, PublishedScript running, String problem, long problemWallNs) {

        ScriptInfo status() {
            Optional<String> wrong = problem == null && running != null ? problemOf(running) : Optional.of(problem);
            return new ScriptInfo(
                    module,
                    origin,
                    running == null ? "" : running.staged.sha256(),
                    Instant.ofEpochSecond(0, running == null ? problemWallNs : running.sinceWallNs),
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

    /** Returns every script, by slot. */
    public List<ScriptInfo> list() {
        List<ScriptInfo> all = new ArrayList<>();
        byLocation.values().forEach(shelved -> all.add(shelved.status()));
        return all;
    }

    /** Returns the problem of a slot. */
    Optional<String> problem(String location) {
        Shelved shelved = byLocation.get(location);
        return shelved == null ? Optional.empty() : shelved.status().problem();
    }

    /**
     * Returns whether currently no bundle can compare another script with the one in a slot, for example while the
     * bundle that runs scripts is updated.
     */
    boolean mustWait(String location) {
        Shelved shelved = byLocation.get(location);
        return shelved != null && shelved.running != null && !shelved.running.isUsed();
    }

    /** Puts a script in a slot, in place of the present one. */
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

    /** Sets the problem of the script in a slot; the running one continues. A new problem is logged. */
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

    /** Empties a slot; it is listed until its script is withdrawn. */
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
