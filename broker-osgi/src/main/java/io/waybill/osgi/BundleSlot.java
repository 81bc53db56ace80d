package io.waybill.osgi;

import io.waybill.api.admin.BundleInfo.Kind;
import io.waybill.api.admin.BundleInfo.State;
import io.waybill.host.Clock;
import io.waybill.osgi.jar.StagedJar;
import java.util.List;
import java.util.Optional;
import org.osgi.framework.Bundle;

/**
 * One handler bundle and its running jar.
 *
 * <p><b>Threads.</b> Changed by the current operation, read by threads that request its status: hence the volatile
 * fields.
 */
final class BundleSlot {

    /** Problem of a bundle that {@link #isGone}. */
    static final String GONE =
            "another bundle uninstalled it; install it again, or uninstall it so that it does not come back";

    final Bundle bundle;
    private final Clock clock;
    private volatile StagedJar jar;
    private volatile State state = State.STOPPED;
    private volatile long sinceWallNs;
    private volatile String problem; // null if there is none
    private volatile boolean isRemoved;
    private volatile String share; // null unless it is a canary

    BundleSlot(Bundle bundle, StagedJar jar, Clock clock) {
        this.bundle = bundle;
        this.jar = jar;
        this.clock = clock;
    }

    StagedJar jar() {
        return jar;
    }

    String symbolicName() {
        return jar.symbolicName();
    }

    void runs(StagedJar next) {
        jar = next;
    }

    /**
     * Returns the state. The framework may have stopped the bundle, for example because a bundle that it uses was
     * removed; another bundle may have uninstalled it.
     */
    State state() {
        if (isGone()) {
            return State.STOPPED;
        }
        return state == State.ACTIVE && !isStarted() ? State.WAITING : state;
    }

    /** Returns whether the bundle should run, even if it waits for a dependency. */
    boolean isWanted() {
        return !isGone() && (state == State.ACTIVE || state == State.WAITING);
    }

    /** Returns whether another bundle uninstalled this one, so that the framework no longer knows it. */
    boolean isGone() {
        return !isRemoved && bundle.getState() == Bundle.UNINSTALLED;
    }

    /** Records that an operator removed the bundle. */
    void removed() {
        isRemoved = true;
    }

    /** Returns whether the framework runs it. */
    boolean isStarted() {
        return bundle.getState() == Bundle.ACTIVE;
    }

    boolean isActive() {
        return state() == State.ACTIVE;
    }

    boolean isWaiting() {
        return state() == State.WAITING;
    }

    /** Makes it a canary with the described share of requests, or no canary if it is null. */
    void tries(String described) {
        share = described;
        if (described != null) {
            enter(State.CANARY);
        }
    }

    /** Returns the share of requests that a canary gets; null for another bundle. */
    String share() {
        return share;
    }

    void enter(State next) {
        state = next;
        sinceWallNs = clock.wallNs();
    }

    /** Records the missing dependencies of the bundle. */
    void lacks(String text) {
        if (state != State.WAITING) {
            enter(State.WAITING);
        }
        problem = text;
    }

    String problem() {
        return problem;
    }

    void failed(String text) {
        problem = text;
    }

    void clearProblem() {
        problem = null;
    }

    BundleStatus status() {
        return status(state(), isGone() ? GONE : problem);
    }

    BundleStatus status(State shownState, String shownProblem) {
        StagedJar running = jar;
        return new BundleStatus(
                running.symbolicName(),
                running.version().toString(),
                Kind.HANDLER,
                shownState,
                sinceWallNs,
                running.sha256(),
                running.source().toString(),
                Optional.ofNullable(shownProblem),
                Optional.ofNullable(share),
                List.of(),
                Optional.empty());
    }
}
