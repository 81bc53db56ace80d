package io.waybill.cli.node;

import io.waybill.api.MessageType;
import io.waybill.archive.ArchiveOverflow;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RetentionSettings;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.ShippedBundles;
import io.waybill.rref.ControlRetries;
import io.waybill.rref.Keeping;
import io.waybill.rref.RRefSettings;
import io.waybill.tensor.TensorConfig;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.Overflow;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.recover.RecoverySettings;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A node's settings, from {@code waybill.properties}. Immutable.
 *
 * @param worker of the worker
 * @param drainLimit how long running requests may take to end when their handler or the node leaves
 * @param startLimit how long a bundle may take to start
 * @param settleLimit how long components may take to become satisfied after their bundle started
 * @param scripts the watched directory of scripts; when it is not absolute, in the worker's own directory
 * @param shipped which of the distribution's bundles start
 */
public record NodeSettings(
        WorkerSettings worker,
        Duration drainLimit,
        Duration startLimit,
        Duration settleLimit,
        Path scripts,
        ShippedBundles shipped) {

    /** In the worker's own directory. */
    private static final Path SCRIPTS_DEFAULT = Path.of("scripts");

    /** What a node takes when nothing is said. */
    public static NodeSettings defaults() {
        return of(Map.of());
    }

    /**
     * Reads settings.
     *
     * @throws IllegalArgumentException with all that is wrong: keys that are none, values that are none
     */
    public static NodeSettings of(Map<String, String> values) {
        Reading reading = new Reading(values);
        FlowLimits flow = FlowLimits.defaults();
        ParkingSettings parking = ParkingSettings.DEFAULT;
        Waiting waiting = reading.take("worker.waiting", Waiting.BALANCED, Quantities::waiting);
        Duration timeout = reading.take("worker.default-timeout", WorkerSettings.DEFAULT_TIMEOUT, Quantities::duration);
        JournalSettings journal = journal(reading);
        RetentionSettings retention = retention(reading, journal);
        int callsPerPeer = reading.take("flow.calls-per-peer", flow.callsPerPeer(), Integer::parseInt);
        long bytesPerPeer = reading.take("flow.bytes-per-peer", flow.bytesPerPeer(), Quantities::bytes);
        int calls = reading.take("flow.calls", flow.calls(), Integer::parseInt);
        Overflow overflow = reading.take("flow.overflow", flow.overflow(), Quantities::overflow);
        int parked = reading.take("parking.max-messages", parking.maxMessages(), Integer::parseInt);
        Duration parkedFor =
                reading.take("parking.max-duration", ParkingSettings.MAX_DURATION_DEFAULT, Quantities::duration);
        Duration drain = reading.take("osgi.drain-limit", OsgiSettings.DRAIN_LIMIT_DEFAULT, Quantities::duration);
        Duration start = reading.take("osgi.start-limit", OsgiSettings.START_LIMIT_DEFAULT, Quantities::duration);
        Duration settle = reading.take("osgi.settle-limit", OsgiSettings.SETTLE_LIMIT_DEFAULT, Quantities::duration);
        StuckSettings stuck = stuck(reading);
        Path scripts = reading.take("scripts.directory", SCRIPTS_DEFAULT, NodeSettings::directory);
        ShippedBundles shipped = reading.take("osgi.shipped", ShippedBundles.ALL, Quantities::shipped);
        TensorConfig tensors = tensors(reading);
        ArchiveSettings archive = archive(reading);
        RRefSettings references = references(reading);
        InjectionSettings injection = injection(reading);
        Duration returnLimit =
                reading.take("recovery.return-limit", RecoverySettings.DEFAULTS.returnLimit(), Quantities::duration);
        reading.requireNothingWrong();
        WorkerSettings worker = new WorkerSettings(
                WorkerSettings.Role.SERVES,
                waiting,
                timeout,
                journal,
                retention,
                new FlowLimits(callsPerPeer, bytesPerPeer, calls, overflow),
                new ParkingSettings(parked, parkedFor.toNanos()),
                stuck,
                tensors,
                archive,
                references,
                injection,
                new RecoverySettings(returnLimit),
                drain);
        return new NodeSettings(worker, drain, start, settle, scripts, shipped);
    }

    private static Path directory(String text) {
        try {
            Path directory = Path.of(text).normalize();
            if (directory.isAbsolute() || directory.equals(SCRIPTS_DEFAULT)) {
                return directory;
            }
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("no path: " + e.getMessage(), e);
        }
        throw new IllegalArgumentException("expected an absolute path, or " + SCRIPTS_DEFAULT
                + " for the one in the node's own directory, found '" + text + "'");
    }

    private static JournalSettings journal(Reading reading) {
        JournalSettings defaults = JournalSettings.defaults();
        long reserve = reading.take("journal.reserve-bytes", defaults.reserveBytes(), Quantities::bytes);
        long file = reading.take("journal.file-bytes", defaults.fileBytes(), Quantities::bytes);
        Durability durability = reading.take("journal.durability", defaults.durability(), Quantities::durability);
        Duration interval = reading.take("journal.sync-interval", defaults.syncInterval(), Quantities::duration);
        return reading.check(
                "journal",
                () -> defaults.withReserveBytes(reserve)
                        .withFileBytes(file)
                        .withDurability(durability)
                        .withSyncInterval(interval),
                defaults);
    }

    private static RetentionSettings retention(Reading reading, JournalSettings journal) {
        RetentionSettings defaults = RetentionSettings.DEFAULTS;
        Duration age = reading.take("retention.max-age", defaults.maxAge(), Quantities::duration);
        long bytes = reading.take("retention.max-bytes", defaults.maxBytes(), Quantities::bytes);
        int cycles = reading.take("retention.max-cycles", defaults.maxCycles(), Integer::parseInt);
        Duration absent = reading.take("retention.absent-peers", defaults.absentPeers(), Quantities::duration);
        return reading.check(
                "retention",
                () -> {
                    RetentionSettings retention = new RetentionSettings(age, bytes, cycles, absent);
                    retention.fit(journal);
                    return retention;
                },
                defaults);
    }

    private static StuckSettings stuck(Reading reading) {
        Duration after = reading.take("handler.stuck-after", StuckSettings.AFTER_DEFAULT, Quantities::duration);
        Duration withoutDeadline = reading.take(
                "handler.stuck-without-deadline", StuckSettings.WITHOUT_DEADLINE_DEFAULT, Quantities::duration);
        int max = reading.take("handler.max-stuck", StuckSettings.MAX_PER_HANDLER_DEFAULT, Integer::parseInt);
        return new StuckSettings(after.toNanos(), withoutDeadline.toNanos(), max);
    }

    private static TensorConfig tensors(Reading reading) {
        long segment = reading.take("tensor.segment-bytes", TensorConfig.SEGMENT_BYTES_DEFAULT, Quantities::bytes);
        long total = reading.take("tensor.total-bytes", TensorConfig.TOTAL_BYTES_DEFAULT, Quantities::bytes);
        return new TensorConfig(
                segment, total, TensorConfig.INLINE_BYTES_DEFAULT, TensorConfig.INLINE_TOTAL_BYTES_DEFAULT);
    }

    private static ArchiveSettings archive(Reading reading) {
        ArchiveSettings defaults = ArchiveSettings.DEFAULTS;
        ArchivePolicy policy = reading.take("archive.policy", defaults.policy(), Quantities::archivePolicy);
        long largest = reading.take("archive.max-storage-bytes", defaults.maxStorageBytes(), Quantities::bytes);
        long total = reading.take("archive.total-bytes", defaults.totalBytes(), Quantities::bytes);
        ArchiveOverflow overflow = reading.take("archive.overflow", defaults.overflow(), Quantities::archiveOverflow);
        long waiting = reading.take("archive.waiting-bytes", defaults.waitingBytes(), Quantities::bytes);
        return reading.check("archive", () -> new ArchiveSettings(policy, largest, total, overflow, waiting), defaults);
    }

    private static RRefSettings references(Reading reading) {
        RRefSettings defaults = RRefSettings.DEFAULTS;
        Duration grace = reading.take("rref.grace", defaults.grace(), Quantities::duration);
        Duration ownerReturn = reading.take("rref.owner-return", defaults.ownerReturn(), Quantities::duration);
        Duration memory = reading.take("rref.remember-ids", defaults.memory(), Quantities::duration);
        ControlRetries retries = retries(reading);
        Keeping keeping = reading.take("rref.keep", defaults.keeping(), Quantities::keeping);
        return reading.check("rref", () -> new RRefSettings(grace, ownerReturn, memory, retries, keeping), defaults);
    }

    private static ControlRetries retries(Reading reading) {
        ControlRetries defaults = ControlRetries.DEFAULTS;
        int count = reading.take("rref.retries", defaults.count(), Integer::parseInt);
        Duration first = reading.take("rref.retry-wait", defaults.first(), Quantities::duration);
        Duration slow = reading.take("rref.slow-retry-wait", defaults.slow(), Quantities::duration);
        Duration timeout = reading.take("rref.attempt-timeout", defaults.attemptTimeout(), Quantities::duration);
        return reading.check("rref", () -> new ControlRetries(count, first, slow, timeout), defaults);
    }

    private static InjectionSettings injection(Reading reading) {
        InjectionSettings none = InjectionSettings.NONE;
        Set<MessageType> fail = reading.take("inject.fail", none.fail(), InjectedTypes::types);
        Set<MessageType> drop = reading.take("inject.drop", none.drop(), InjectedTypes::types);
        int times = reading.take("inject.times", none.times(), Integer::parseInt);
        Map<MessageType, Duration> delay = reading.take("inject.delay", none.delay(), InjectedTypes::delays);
        Set<MessageType> duplicate = reading.take("inject.duplicate", none.duplicate(), InjectedTypes::types);
        Set<MessageType> reorder = reading.take("inject.reorder", none.reorder(), InjectedTypes::types);
        return reading.check("inject", () -> new InjectionSettings(fail, drop, times, delay, duplicate, reorder), none);
    }

    /** The same with other settings of its worker. */
    public NodeSettings withWorker(WorkerSettings other) {
        return new NodeSettings(other, drainLimit, startLimit, settleLimit, scripts, shipped);
    }

    /** The same with another directory of scripts. */
    public NodeSettings withScripts(Path other) {
        return new NodeSettings(worker, drainLimit, startLimit, settleLimit, other, shipped);
    }

    public NodeSettings withWaiting(Waiting other) {
        return new NodeSettings(worker.withWaiting(other), drainLimit, startLimit, settleLimit, scripts, shipped);
    }

    /** The same with another choice of the distribution's bundles. */
    public NodeSettings withShipped(ShippedBundles other) {
        return new NodeSettings(worker, drainLimit, startLimit, settleLimit, scripts, other);
    }

    /** Takes keys one after another, and remembers what is wrong. */
    private static final class Reading {
        private final Map<String, String> values;
        private final TreeSet<String> known = new TreeSet<>();
        private final List<String> wrong = new ArrayList<>();

        Reading(Map<String, String> values) {
            this.values = values;
        }

        <T> T take(String key, T fallback, Function<String, T> read) {
            known.add(key);
            String text = values.get(key);
            if (text == null) {
                return fallback;
            }
            try {
                return read.apply(text);
            } catch (NumberFormatException e) {
                wrong.add(key + " must be a whole number: " + text);
            } catch (IllegalArgumentException e) {
                wrong.add(key + ": " + e.getMessage());
            }
            return fallback;
        }

        /** Puts together what was taken; its own checks come from {@code make}. */
        <T> T check(String area, Supplier<T> make, T fallback) {
            try {
                return make.get();
            } catch (IllegalArgumentException e) {
                wrong.add(area + ": " + e.getMessage());
                return fallback;
            }
        }

        void requireNothingWrong() {
            for (String key : new TreeSet<>(values.keySet())) {
                if (!known.contains(key)) {
                    wrong.add("there is no setting " + key + "; there are " + String.join(", ", known));
                }
            }
            if (!wrong.isEmpty()) {
                throw new IllegalArgumentException(String.join("; ", wrong));
            }
        }
    }
}
