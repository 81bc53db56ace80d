package io.waybill.cli.lifecycle;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.admin.Admin;
import io.waybill.api.admin.SettingChange;
import io.waybill.cli.call.CallingWorker;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.Progress;
import io.waybill.cli.command.Surroundings;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.host.Host;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** One incarnation of a node that was running when a command began. For one thread. */
final class RunningNode {

    private static final Duration RESPONSE_LIMIT = Duration.ofSeconds(30);
    private static final long LOOK_NS = 20_000_000;

    private final Surroundings surroundings;
    private final Home home;
    private final Peer before;

    private RunningNode(Surroundings surroundings, Home home, Peer before) {
        this.surroundings = surroundings;
        this.home = home;
        this.before = before;
    }

    static RunningNode find(Surroundings surroundings, Home home, String name)
            throws IOException, CommandFailedException {
        try (Membership membership = Membership.present(home)) {
            membership.refresh();
            Peer found = membership
                    .find(name)
                    .orElseThrow(() ->
                            new CommandFailedException("no worker " + name + "; see who is there: waybill workers"));
            if (!found.state().isThere()) {
                throw new CommandFailedException(found.name() + " does not run; start it: waybill node --name "
                        + found.name() + ", or waybill up");
            }
            return new RunningNode(surroundings, home, found);
        }
    }

    String name() {
        return before.name();
    }

    long pid() {
        return pid(before);
    }

    static long pid(Peer peer) {
        return peer.record().map(record -> record.process().pid()).orElse(0L);
    }

    /** Requests a stop; returns after the node has begun to stop. */
    void ask(boolean restart) throws IOException, CommandFailedException {
        try (CallingWorker caller = CallingWorker.join(home)) {
            if (restart) {
                admin(caller).restartNode(before.name());
            } else {
                admin(caller).stopNode(before.name());
            }
        } catch (CallException e) {
            if (e.code() == ErrorCode.WORKER_LOST) {
                return; // it has already ended
            }
            throw explained(e);
        }
    }

    private static Admin admin(CallingWorker caller) {
        return Admin.of(caller.worker()).withLimit(RESPONSE_LIMIT);
    }

    /** Makes the node reread its settings; returns the reported changes. */
    List<SettingChange> reload() throws IOException, CommandFailedException {
        try (CallingWorker caller = CallingWorker.join(home)) {
            return admin(caller).reload(before.name());
        } catch (CallException e) {
            throw explained(e);
        }
    }

    private CommandFailedException explained(CallException failure) {
        String name = before.name();
        switch (failure.code()) {
            case UNKNOWN_OPERATION, UNKNOWN_TYPE:
                return new CommandFailedException(
                        name + " is no node, but a worker of another program; end that program: kill " + pid(),
                        failure);
            case TIMED_OUT:
                return new CommandFailedException(
                        name + " did not respond within " + RESPONSE_LIMIT.toSeconds() + " s; end its process: kill "
                                + pid() + ", which does the same without the broker",
                        failure);
            default:
                return new CommandFailedException(failure.getMessage() + " [" + failure.code() + "]", failure);
        }
    }

    /** Waits for the end of this incarnation. */
    void awaitEnd(Duration limit) throws CommandFailedException {
        await(limit, "end", peer -> isOver(peer) ? Optional.of(before) : Optional.empty());
    }

    /** Waits until the next incarnation serves, and returns it. */
    Peer awaitReturn(Duration limit) throws CommandFailedException {
        return await(
                limit,
                "serve again",
                peer -> peer.filter(now -> now.epoch() != before.epoch())
                        .filter(now -> now.state() == PeerState.READY));
    }

    private boolean isOver(Optional<Peer> now) {
        return now.isEmpty()
                || now.get().epoch() != before.epoch()
                || !now.get().state().isThere();
    }

    private interface Look {
        Optional<Peer> at(Optional<Peer> now);
    }

    private Peer await(Duration limit, String what, Look look) throws CommandFailedException {
        Host host = home.host();
        long sinceNs = host.clock().monotonicNs();
        Optional<Peer> found;
        try (Membership membership = Membership.present(home)) {
            found = Progress.during(
                    surroundings, host.threads(), () -> "waiting for " + before.name() + " to " + what, () -> {
                        Optional<Peer> seen = look.at(seen(membership));
                        while (seen.isEmpty() && host.clock().monotonicNs() - sinceNs < limit.toNanos()) {
                            host.threads().pause(LOOK_NS);
                            seen = look.at(seen(membership));
                        }
                        return seen;
                    });
        }
        return found.orElseThrow(() -> new CommandFailedException(before.name() + " was asked, and did not " + what
                + " within " + limit.toSeconds() + " s; see its log, and waybill workers"));
    }

    private Optional<Peer> seen(Membership membership) {
        try {
            membership.refresh();
            return membership.find(before.name());
        } catch (IOException e) {
            return Optional.of(before); // unknown now; the next attempt may succeed
        }
    }
}
