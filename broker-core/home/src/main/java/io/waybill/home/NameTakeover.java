package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.JoinOptions.Unseen;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.home.error.NameTakenException;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.host.ProcessIdentity;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks whether a process that joins may acquire a name, by the name's lock and the record of its last holder in
 * {@code worker.json}.
 */
final class NameTakeover {

    private static final Logger LOG = LoggerFactory.getLogger(NameTakeover.class);
    private static final long LOCK_RETRY_NS = 2_000_000;

    private NameTakeover() {}

    /** Acquires the lock; waits briefly for a holder that has ended or is leaving, but not for a live one. */
    static OwnerLock takeLock(Home home, WorkerInfo info, Path path, JoinOptions options) throws IOException {
        Host host = home.host();
        long giveUpAt = host.clock().monotonicNs() + options.lockWaitNs();
        while (true) {
            Optional<OwnerLock> lock = OwnerLock.take(path, host.files());
            if (lock.isPresent()) {
                return lock.get();
            }
            Optional<WorkerRecord> holder = readRecord(path, host.files());
            if (holder.isPresent() && isStaying(holder.get(), host)) {
                throw taken(home, info, holder.get(), "");
            }
            if (host.clock().monotonicNs() - giveUpAt >= 0) {
                throw new NameTakenException(
                        info.name(),
                        0,
                        describe(home, info) + " is taken: another process holds " + path.resolve("lock/owner")
                                + " and has not said who it is");
            }
            host.threads().pause(LOCK_RETRY_NS);
        }
    }

    private static boolean isStaying(WorkerRecord holder, Host host) {
        return holder.state() != WorkerState.LEFT && host.processes().liveness(holder.process()) != Liveness.DEAD;
    }

    /** Checks, with the lock held, that the previous holder has really ended. */
    static void requireGone(Home home, WorkerInfo info, WorkerRecord last, JoinOptions options)
            throws NameTakenException {
        if (last.state() == WorkerState.LEFT) {
            return;
        }
        Host host = home.host();
        ProcessIdentity process = last.process();
        if (process.equals(host.processes().self())) {
            return; // joined from this process, which has the lock now: that worker was closed
        }
        switch (host.processes().liveness(process)) {
            case DEAD ->
                LOG.info(
                        "{}: pid {} died without leaving; taking over its journal",
                        describe(home, info),
                        process.pid());
            case ALIVE -> throw taken(home, info, last, ", although it has lost its lock");
            case UNKNOWN -> {
                if (options.unseen() == Unseen.REFUSE) {
                    throw taken(
                            home,
                            info,
                            last,
                            ", in " + process.pidNamespace()
                                    + " where it can't be seen from here, so it is taken for alive; to take over all the"
                                    + " same, join with TRUST_LOCK");
                }
            }
        }
    }

    private static NameTakenException taken(Home home, WorkerInfo info, WorkerRecord holder, String remark) {
        return new NameTakenException(
                info.name(),
                holder.process().pid(),
                describe(home, info) + " is taken: pid " + holder.process().pid() + " has it since "
                        + Instant.ofEpochMilli(holder.joinedAtMs()) + remark);
    }

    static String describe(Home home, WorkerInfo info) {
        return "worker " + info.name() + " (id " + info.id() + ") of " + home.path();
    }

    /** Reads the existing record. An unreadable one is ignored: the holder of the lock writes a new one. */
    static Optional<WorkerRecord> readRecord(Path path, SafeFiles files) throws IOException {
        Path file = path.resolve(WorkerDirectory.RECORD_FILE);
        try {
            return Optional.of(WorkerRecordJson.read(files.readSmall(file, WorkerRecordJson.MAX_BYTES), file));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (MalformedHomeFileException e) {
            LOG.warn("{}; it will be replaced", e.getMessage());
            return Optional.empty();
        }
    }
}
