package io.waybill.cli.node;

import io.waybill.archive.ArchiveOverflow;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RetentionSettings;
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
import java.util.Map;

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

    /** The defaults. */
    public static NodeSettings defaults() {
        return of(Map.of());
    }

    /**
     * Reads settings.
     *
     * @throws IllegalArgumentException with all that is wrong: unknown keys, malformed values
     */
    public static NodeSettings of(Map<String, String> given) {
        SettingValues values = new SettingValues(given);
        Duration drain = values.time("osgi.drain-limit");
        WorkerSettings worker = worker(values, drain);
        NodeSettings settings = new NodeSettings(
                worker,
                drain,
                values.time("osgi.start-limit"),
                values.time("osgi.settle-limit"),
                values.value("scripts.directory", NodeSettings::directory),
                values.value("osgi.shipped", Quantities::shipped));
        values.requireCorrect();
        return settings;
    }

    private static WorkerSettings worker(SettingValues values, Duration drain) {
        JournalSettings journal = journal(values);
        return new WorkerSettings(
                WorkerSettings.Role.SERVES,
                values.choice("worker.waiting", Waiting.class),
                values.time("worker.default-timeout"),
                journal,
                retention(values, journal),
                values.area("flow", FlowLimits.defaults(), () -> flow(values)),
                values.area("parking", ParkingSettings.DEFAULT, () -> parking(values)),
                values.area("handler", StuckSettings.DEFAULT, () -> stuck(values)),
                values.area("tensor", TensorConfig.DEFAULTS, () -> tensors(values)),
                archive(values),
                references(values),
                injection(values),
                new RecoverySettings(values.time("recovery.return-limit")),
                drain);
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

    private static JournalSettings journal(SettingValues values) {
        JournalSettings defaults = JournalSettings.defaults();
        return values.area(
                "journal",
                defaults,
                () -> defaults.withReserveBytes(values.size("journal.reserve-bytes"))
                        .withFileBytes(values.size("journal.file-bytes"))
                        .withDurability(values.choice("journal.durability", Durability.class))
                        .withSyncInterval(values.time("journal.sync-interval")));
    }

    private static RetentionSettings retention(SettingValues values, JournalSettings journal) {
        return values.area("retention", RetentionSettings.DEFAULTS, () -> {
            RetentionSettings retention = new RetentionSettings(
                    values.time("retention.max-age"),
                    values.size("retention.max-bytes"),
                    values.count("retention.max-cycles"),
                    values.time("retention.absent-peers"));
            retention.fit(journal);
            return retention;
        });
    }

    private static FlowLimits flow(SettingValues values) {
        return new FlowLimits(
                values.count("flow.calls-per-peer"),
                values.size("flow.bytes-per-peer"),
                values.count("flow.calls"),
                values.choice("flow.overflow", Overflow.class));
    }

    private static ParkingSettings parking(SettingValues values) {
        return new ParkingSettings(
                values.count("parking.max-messages"),
                values.time("parking.max-duration").toNanos());
    }

    private static StuckSettings stuck(SettingValues values) {
        return new StuckSettings(
                values.time("handler.stuck-after").toNanos(),
                values.time("handler.stuck-without-deadline").toNanos(),
                values.count("handler.max-stuck"));
    }

    private static TensorConfig tensors(SettingValues values) {
        return new TensorConfig(
                values.size("tensor.segment-bytes"),
                values.size("tensor.total-bytes"),
                TensorConfig.INLINE_BYTES_DEFAULT,
                TensorConfig.INLINE_TOTAL_BYTES_DEFAULT);
    }

    private static ArchiveSettings archive(SettingValues values) {
        return values.area(
                "archive",
                ArchiveSettings.DEFAULTS,
                () -> new ArchiveSettings(
                        values.choice("archive.policy", ArchivePolicy.class),
                        values.size("archive.max-storage-bytes"),
                        values.size("archive.total-bytes"),
                        values.choice("archive.overflow", ArchiveOverflow.class),
                        values.size("archive.waiting-bytes")));
    }

    private static RRefSettings references(SettingValues values) {
        ControlRetries retries = values.area(
                "rref",
                ControlRetries.DEFAULTS,
                () -> new ControlRetries(
                        values.count("rref.retries"),
                        values.time("rref.retry-wait"),
                        values.time("rref.slow-retry-wait"),
                        values.time("rref.attempt-timeout")));
        return values.area(
                "rref",
                RRefSettings.DEFAULTS,
                () -> new RRefSettings(
                        values.time("rref.grace"),
                        values.time("rref.owner-return"),
                        values.time("rref.remember-ids"),
                        retries,
                        values.choice("rref.keep", Keeping.class)));
    }

    private static InjectionSettings injection(SettingValues values) {
        return values.area(
                "inject",
                InjectionSettings.NONE,
                () -> new InjectionSettings(
                        values.value("inject.fail", InjectedTypes::types),
                        values.value("inject.drop", InjectedTypes::types),
                        values.count("inject.times"),
                        values.value("inject.delay", InjectedTypes::delays),
                        values.value("inject.duplicate", InjectedTypes::types),
                        values.value("inject.reorder", InjectedTypes::types)));
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
        return new NodeSettings(
                worker.toBuilder().waiting(other).build(), drainLimit, startLimit, settleLimit, scripts, shipped);
    }

    /** The same with another choice of the distribution's bundles. */
    public NodeSettings withShipped(ShippedBundles other) {
        return new NodeSettings(worker, drainLimit, startLimit, settleLimit, scripts, other);
    }
}
