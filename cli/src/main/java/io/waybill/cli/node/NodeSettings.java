package io.waybill.cli.node;

import io.waybill.archive.ArchiveOverflow;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.broker.StateSettings;
import io.waybill.cli.show.MarkdownTable;
import io.waybill.device.DeviceSettings;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.host.Host;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RetentionSettings;
import io.waybill.osgi.jar.ShippedBundles;
import io.waybill.rref.Keeping;
import io.waybill.rref.RRefSettings;
import io.waybill.rref.control.ControlRetries;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.Overflow;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.recover.RecoverySettings;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * A node's settings, from {@code waybill.properties}. Immutable.
 *
 * @param worker settings of the worker; its drain limit is also that of the node's bundles
 * @param startLimit max time for a bundle to start
 * @param activationLimit max time for components to become satisfied after their bundle started
 * @param scripts the watched directory of scripts; relative paths start at the worker's own directory
 * @param shipped selection of the distribution's bundles that start
 * @param departedAge time after which a worker that left is removed from the home; 0 for never
 */
public record NodeSettings(
        WorkerSettings worker,
        Duration startLimit,
        Duration activationLimit,
        Path scripts,
        ShippedBundles shipped,
        Duration departedAge) {

    /**
     * Table of all settings: key, default and meaning. The page on configuration shows it; parsing reads keys and
     * defaults from it.
     */
    public static final MarkdownTable TABLE = MarkdownTable.of(NodeSettings.class, "settings.table");

    /** Default directory of scripts, in the worker's own directory. */
    private static final Path SCRIPTS_DEFAULT = Path.of("scripts");

    /** Returns the defaults. */
    public static NodeSettings defaults() {
        return of(Map.of());
    }

    /**
     * Reads settings.
     *
     * @throws IllegalArgumentException with all errors: unknown keys, malformed values
     */
    public static NodeSettings of(Map<String, String> given) {
        SettingValues values = new SettingValues(given);
        WorkerSettings.Builder worker = worker(values);
        Duration startLimit = values.time("osgi.start-limit");
        Duration activationLimit = values.time("osgi.activation-limit");
        Path scripts = values.value("scripts.directory", NodeSettings::directory);
        ShippedBundles shipped = values.value("osgi.shipped", Quantities::shipped);
        Duration departedAge = values.time("retention.departed-workers");
        values.requireCorrect();
        return new NodeSettings(worker.build(), startLimit, activationLimit, scripts, shipped, departedAge);
    }

    /** Returns the settings of the worker, complete unless {@code values} has recorded an error. */
    private static WorkerSettings.Builder worker(SettingValues values) {
        JournalSettings journal = values.area(() -> JournalSettings.defaults()
                .withReserveBytes(values.size("journal.reserve-bytes"))
                .withFileBytes(values.size("journal.file-bytes"))
                .withDurability(values.choice("journal.durability", Durability.class))
                .withSyncInterval(values.time("journal.sync-interval")));
        RetentionSettings retention = values.area(() -> new RetentionSettings(
                values.time("retention.max-age"),
                values.size("retention.max-bytes"),
                values.count("retention.max-cycles"),
                values.time("retention.absent-peers")));
        if (journal != null && retention != null) {
            values.area(() -> retention.fit(journal));
        }
        ControlRetries retries = values.area(() -> new ControlRetries(
                values.count("rref.retries"),
                values.time("rref.retry-wait"),
                values.time("rref.slow-retry-wait"),
                values.time("rref.attempt-timeout")));
        return WorkerSettings.builder()
                .polling(values.area(() -> polling(values)))
                .defaultTimeout(values.time("worker.default-timeout"))
                .journal(journal)
                .retention(retention)
                .limits(values.area(() -> new FlowLimits(
                        values.count("flow.calls-per-peer"),
                        values.size("flow.bytes-per-peer"),
                        values.count("flow.calls"),
                        values.choice("flow.overflow", Overflow.class))))
                .parking(values.area(() -> new ParkingSettings(
                        values.count("parking.max-messages"),
                        values.time("parking.max-duration").toNanos())))
                .stuck(values.area(() -> new StuckSettings(
                        values.time("handler.stuck-after").toNanos(),
                        values.time("handler.stuck-without-deadline").toNanos(),
                        values.count("handler.max-stuck"))))
                .tensors(values.area(() -> tensors(values)))
                .devices(values.area(() -> new DeviceSettings(
                        values.value("tensor.devices", DeviceSettings::parseDevices),
                        values.value("tensor.device-maps", DeviceSettings::parseMaps),
                        values.value("tensor.device-sharing", DeviceSettings::parsePeers))))
                .archive(values.area(() -> new ArchiveSettings(
                        values.choice("archive.policy", ArchivePolicy.class),
                        values.size("archive.max-storage-bytes"),
                        values.size("archive.total-bytes"),
                        values.choice("archive.overflow", ArchiveOverflow.class),
                        values.size("archive.waiting-bytes"),
                        values.size("archive.bytes-per-second"))))
                .references(values.area(() -> new RRefSettings(
                        values.time("rref.grace"),
                        values.time("rref.owner-return"),
                        values.time("rref.remember-ids"),
                        retries == null ? ControlRetries.DEFAULTS : retries,
                        values.choice("rref.keep", Keeping.class))))
                .injection(values.area(() -> new InjectionSettings(
                        values.value("inject.fail", InjectedTypes::types),
                        values.value("inject.drop", InjectedTypes::types),
                        values.count("inject.times"),
                        values.value("inject.delay", InjectedTypes::delays),
                        values.value("inject.duplicate", InjectedTypes::types),
                        values.value("inject.reorder", InjectedTypes::types))))
                .state(values.area(() ->
                        new StateSettings(values.time("state.write-interval"), values.size("state.max-kept-bytes"))))
                .recovery(values.area(() -> new RecoverySettings(
                        values.time("recovery.return-limit"), values.time("recovery.succession-limit"))))
                .drainLimit(values.time("osgi.drain-limit"));
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

    /** Returns a copy with other settings of its worker. */
    public NodeSettings withWorker(WorkerSettings other) {
        return new NodeSettings(other, startLimit, activationLimit, scripts, shipped, departedAge);
    }

    /** Returns a copy with another directory of scripts. */
    public NodeSettings withScripts(Path other) {
        return new NodeSettings(worker, startLimit, activationLimit, other, shipped, departedAge);
    }

    /** Returns a copy with another choice of the distribution's bundles. */
    public NodeSettings withShipped(ShippedBundles other) {
        return new NodeSettings(worker, startLimit, activationLimit, scripts, other, departedAge);
    }

    private static PollTimes polling(SettingValues values) {
        return new PollTimes(
                values.choice("worker.waiting", Waiting.class),
                values.value("polling.spin", NodeSettings::nanosOrAuto),
                values.value("polling.caller-spin", NodeSettings::nanosOrAuto),
                values.time("polling.leader-rest").toNanos(),
                values.time("polling.leader-check").toNanos(),
                values.time("polling.max-leader-check").toNanos(),
                values.time("polling.max-sleep").toNanos(),
                values.time("polling.max-idle-sleep").toNanos(),
                values.time("polling.attempt").toNanos(),
                values.time("polling.rest").toNanos(),
                values.time("polling.max-rest").toNanos(),
                values.time("polling.listener-limit").toNanos());
    }

    private static long nanosOrAuto(String text) {
        return text.equals("auto") ? PollTimes.AUTO : Quantities.duration(text).toNanos();
    }

    private static TensorConfig tensors(SettingValues values) {
        long segmentBytes = values.size("tensor.segment-bytes");
        long totalBytes = values.value("tensor.total-bytes", text -> {
            long bytes = Quantities.bytesOrShare(text, Host.memoryBytes());
            return text.endsWith("%")
                    ? Math.max(bytes, segmentBytes)
                    : bytes; // a share of a small disk still has room for a segment
        });
        return new TensorConfig(
                segmentBytes, totalBytes, TensorConfig.INLINE_BYTES_DEFAULT, TensorConfig.INLINE_TOTAL_BYTES_DEFAULT);
    }
}
