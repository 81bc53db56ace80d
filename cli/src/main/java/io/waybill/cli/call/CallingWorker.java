package io.waybill.cli.call;

import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.archive.ArchiveSettings;
import io.waybill.cli.command.Build;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.handling.Failure;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.WorkerRecord;
import io.waybill.home.error.NameTakenException;
import io.waybill.host.Host;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalSettings;
import io.waybill.query.DepartedWorkers;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Worker that a command joins to make its calls: {@code cli}, or {@code cli-2} and so on while the names are in use. It
 * only calls, and needs little room.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Its creator closes it.
 */
public final class CallingWorker implements AutoCloseable {

    private static final String NAME = DepartedWorkers.COMMAND_WORKER;
    private static final long LOOK_NS = 20_000_000;
    private static final int MAX_AT_ONCE = 256;
    private static final long RESERVE_BYTES = 1 << 20;
    /** Tensor settings that allow a file of any size for which the disk has room. */
    private static final TensorConfig TENSORS = new TensorConfig(
            4 << 20, 1L << 50, TensorConfig.INLINE_BYTES_DEFAULT, TensorConfig.INLINE_TOTAL_BYTES_DEFAULT);

    private final Worker worker;

    private CallingWorker(Worker worker) {
        this.worker = worker;
    }

    public static CallingWorker join(Home home) throws IOException {
        for (int n = 1; ; n++) {
            try {
                return joinAs(n == 1 ? NAME : NAME + "-" + n, home, Durability.PROCESS);
            } catch (NameTakenException e) {
                if (n == MAX_AT_ONCE) {
                    throw e;
                }
            }
        }
    }

    /**
     * Joins under this name alone.
     *
     * @throws NameTakenException while another process has it
     */
    public static CallingWorker joinAs(String name, Home home, Durability durability) throws IOException {
        Host host = home.host();
        WorkerSettings settings = WorkerSettings.builder()
                .role(WorkerSettings.Role.CALLS_ONLY)
                .journal(JournalSettings.defaults()
                        .withReserveBytes(RESERVE_BYTES)
                        .withDurability(durability))
                .tensors(TENSORS)
                .archive(ArchiveSettings.DEFAULTS)
                .build();
        JoinOptions options = new JoinOptions(JoinOptions.ANY_ID, Build.version(), JoinOptions.Unseen.REFUSE, 0);
        HandlerRegistry none = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Worker worker = Worker.join(home, name, options, settings, none);
        worker.ready(Map.of());
        return new CallingWorker(worker);
    }

    /**
     * Calls and waits, also for a worker that is starting: its handlers are unknown until it is ready.
     *
     * @return the response, which the caller closes
     * @throws CallException if the call fails
     */
    public Response call(Request request) {
        awaitStarted(request.to(), request.timeoutNs());
        return worker.call(request);
    }

    /** Returns the operations that a worker publishes as served, after it has started; empty if it publishes none. */
    List<String> served(String to, Duration timeout) {
        awaitStarted(to, timeout == null ? Request.DEFAULT_TIMEOUT : timeout.toNanos());
        return peer(to).flatMap(Peer::record).map(WorkerRecord::serves).orElse(List.of());
    }

    /** Returns the current state of a worker in its home; empty if it is unknown, or the home can't be read. */
    public Optional<Peer> peer(String to) {
        try (Membership membership = Membership.present(worker.directory().home())) {
            membership.refresh();
            return membership.find(to);
        } catch (IOException e) {
            return Optional.empty(); // the call itself reports the problem
        }
    }

    private void awaitStarted(String to, long timeoutNs) {
        Home home = worker.directory().home();
        Host host = home.host();
        long limitNs = timeoutNs == Request.DEFAULT_TIMEOUT ? WorkerSettings.DEFAULT_TIMEOUT.toNanos() : timeoutNs;
        long sinceNs = host.clock().monotonicNs();
        Membership membership = Membership.present(home);
        while (isStarting(membership, to)) {
            if (limitNs != Request.NO_TIMEOUT && host.clock().monotonicNs() - sinceNs >= limitNs) {
                throw Failure.timedOut(limitNs, "nothing was sent, because worker " + to + " is still starting")
                        .toException(MessageId.NONE);
            }
            host.threads().pause(LOOK_NS);
        }
    }

    private static boolean isStarting(Membership membership, String to) {
        try {
            membership.refresh();
        } catch (IOException e) {
            return false; // the call itself will report the problem
        }
        return membership
                .members()
                .find(to)
                .map(peer -> peer.state() == PeerState.STARTING)
                .orElse(false);
    }

    public Worker worker() {
        return worker;
    }

    @Override
    public void close() throws IOException {
        worker.close();
    }
}
