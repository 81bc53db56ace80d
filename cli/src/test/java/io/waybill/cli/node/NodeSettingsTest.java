package io.waybill.cli.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.MessageType;
import io.waybill.archive.ArchiveOverflow;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.broker.StateSettings;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.Durability;
import io.waybill.journal.RetentionSettings;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.jar.ShippedBundles;
import io.waybill.rref.Keeping;
import io.waybill.rref.RRefSettings;
import io.waybill.rref.control.ControlRetries;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.peer.Overflow;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.recover.RecoverySettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class NodeSettingsTest {

    @TempDir
    Path directory;

    @Test
    void takesTheDefaultsWhenNothingIsSaid() {
        NodeSettings settings = NodeSettings.defaults();

        assertThat(settings.worker())
                .isEqualTo(WorkerSettings.builder()
                        .archive(ArchiveSettings.DEFAULTS)
                        .build());
        assertThat(settings.worker().drainLimit()).isEqualTo(OsgiSettings.DRAIN_LIMIT_DEFAULT);
        assertThat(settings.startLimit()).isEqualTo(OsgiSettings.START_LIMIT_DEFAULT);
        assertThat(settings.activationLimit()).isEqualTo(OsgiSettings.ACTIVATION_LIMIT_DEFAULT);
    }

    @Test
    void readsEverySetting() {
        Map<String, String> values = new HashMap<>();
        values.put("worker.waiting", "spin");
        values.put("worker.default-timeout", "0");
        values.put("journal.reserve-bytes", "128MiB");
        values.put("journal.file-bytes", "32MiB");
        values.put("journal.durability", "interval");
        values.put("journal.sync-interval", "5ms");
        values.put("retention.max-age", "48h");
        values.put("retention.max-bytes", "2GiB");
        values.put("retention.max-cycles", "18");
        values.put("retention.absent-peers", "5m");
        values.put("tensor.segment-bytes", "1MiB");
        values.put("tensor.total-bytes", "2MiB");
        values.put("tensor.devices", "toy:0 toy:1");
        values.put("tensor.device-maps", "ps0 toy:0=toy:1");
        values.put("tensor.device-sharing", "ps0, ps1");
        values.put("archive.policy", "up-to");
        values.put("archive.max-storage-bytes", "3MiB");
        values.put("archive.total-bytes", "4MiB");
        values.put("archive.overflow", "wait");
        values.put("archive.waiting-bytes", "5MiB");
        values.put("archive.bytes-per-second", "6MiB");
        values.put("flow.calls-per-peer", "7");
        values.put("flow.bytes-per-peer", "8KiB");
        values.put("flow.calls", "9");
        values.put("flow.overflow", "refuse");
        values.put("parking.max-messages", "10");
        values.put("parking.max-duration", "11s");
        values.put("handler.stuck-after", "15s");
        values.put("handler.stuck-without-deadline", "16s");
        values.put("handler.max-stuck", "17");
        values.put("osgi.drain-limit", "12s");
        values.put("osgi.start-limit", "13s");
        values.put("osgi.activation-limit", "14s");
        values.put("osgi.shipped", "org.acme.a, org.acme.b");
        values.put("scripts.directory", "/srv/scripts");
        values.put("inject.fail", "RREF_FORK_REQUEST, RREF_CHILD_ACCEPT");
        values.put("inject.drop", "RREF_USER_DELETE");
        values.put("inject.times", "3");
        values.put("inject.delay", "SCRIPT_CALL 1500ms, SCRIPT_RREF_FETCH_CALL 1s");
        values.put("inject.duplicate", "RREF_USER_DELETE,RREF_CHILD_ACCEPT");
        values.put("inject.reorder", "RREF_FORK_REQUEST");
        values.put("polling.spin", "5us");
        values.put("polling.caller-spin", "6us");
        values.put("polling.leader-rest", "7ms");
        values.put("polling.leader-check", "80us");
        values.put("polling.max-leader-check", "9ms");
        values.put("polling.max-sleep", "100ms");
        values.put("polling.max-idle-sleep", "11s");
        values.put("polling.attempt", "12us");
        values.put("polling.rest", "13ms");
        values.put("polling.max-rest", "14ms");
        values.put("polling.listener-limit", "15ms");
        values.put("recovery.return-limit", "24s");
        values.put("recovery.succession-limit", "25s");
        values.put("rref.grace", "18s");
        values.put("rref.owner-return", "19s");
        values.put("rref.remember-ids", "20s");
        values.put("rref.retries", "2");
        values.put("rref.retry-wait", "21ms");
        values.put("rref.slow-retry-wait", "22s");
        values.put("rref.attempt-timeout", "23s");
        values.put("rref.keep", "all");
        values.put("state.write-interval", "25ms");
        values.put("state.max-kept-bytes", "6MiB");

        NodeSettings settings = NodeSettings.of(values);

        WorkerSettings worker = settings.worker();
        assertThat(worker.polling())
                .isEqualTo(new PollTimes(
                        Waiting.SPIN,
                        5_000,
                        6_000,
                        7_000_000,
                        80_000,
                        9_000_000,
                        100_000_000,
                        11_000_000_000L,
                        12_000,
                        13_000_000,
                        14_000_000,
                        15_000_000));
        assertThat(worker.defaultTimeout()).isZero();
        assertThat(worker.journal().reserveBytes()).isEqualTo(128 << 20);
        assertThat(worker.archive())
                .isEqualTo(new ArchiveSettings(
                        ArchivePolicy.UP_TO, 3 << 20, 4 << 20, ArchiveOverflow.WAIT, 5 << 20, 6 << 20));
        assertThat(worker.journal().fileBytes()).isEqualTo(32 << 20);
        assertThat(worker.journal().durability()).isEqualTo(Durability.INTERVAL);
        assertThat(worker.journal().syncInterval()).isEqualTo(Duration.ofMillis(5));
        assertThat(worker.retention())
                .isEqualTo(new RetentionSettings(Duration.ofHours(48), 2L << 30, 18, Duration.ofMinutes(5)));
        assertThat(worker.tensors().segmentBytes()).isEqualTo(1 << 20);
        assertThat(worker.tensors().totalBytes()).isEqualTo(2 << 20);
        assertThat(worker.devices().published())
                .isEqualTo(Map.of("devices", "toy:0 toy:1", "deviceMaps", "ps0 toy:0=toy:1"));
        assertThat(worker.devices().sharing()).containsExactly("ps0", "ps1");
        assertThat(worker.limits().callsPerPeer()).isEqualTo(7);
        assertThat(worker.limits().bytesPerPeer()).isEqualTo(8192);
        assertThat(worker.limits().calls()).isEqualTo(9);
        assertThat(worker.limits().overflow()).isEqualTo(Overflow.REFUSE);
        assertThat(worker.parking()).isEqualTo(new ParkingSettings(10, 11_000_000_000L));
        assertThat(worker.stuck()).isEqualTo(new StuckSettings(15_000_000_000L, 16_000_000_000L, 17));
        assertThat(worker.recovery()).isEqualTo(new RecoverySettings(Duration.ofSeconds(24), Duration.ofSeconds(25)));
        assertThat(worker.state()).isEqualTo(new StateSettings(Duration.ofMillis(25), 6 << 20));
        assertThat(worker.references())
                .isEqualTo(new RRefSettings(
                        Duration.ofSeconds(18),
                        Duration.ofSeconds(19),
                        Duration.ofSeconds(20),
                        new ControlRetries(2, Duration.ofMillis(21), Duration.ofSeconds(22), Duration.ofSeconds(23)),
                        Keeping.ALL));
        assertThat(settings.worker().drainLimit()).isEqualTo(Duration.ofSeconds(12));
        assertThat(settings.startLimit()).isEqualTo(Duration.ofSeconds(13));
        assertThat(settings.activationLimit()).isEqualTo(Duration.ofSeconds(14));
        assertThat(settings.shipped()).isEqualTo(ShippedBundles.named(Set.of("org.acme.a", "org.acme.b")));
        assertThat(settings.scripts()).isEqualTo(Path.of("/srv/scripts"));
        assertThat(worker.injection())
                .isEqualTo(InjectionSettings.NONE
                        .withFail(MessageType.RREF_FORK_REQUEST, MessageType.RREF_CHILD_ACCEPT)
                        .withDrop(MessageType.RREF_USER_DELETE)
                        .withTimes(3)
                        .withDelay(MessageType.SCRIPT_CALL, Duration.ofMillis(1500))
                        .withDelay(MessageType.SCRIPT_RREF_FETCH_CALL, Duration.ofSeconds(1))
                        .withDuplicate(MessageType.RREF_USER_DELETE, MessageType.RREF_CHILD_ACCEPT)
                        .withReorder(MessageType.RREF_FORK_REQUEST));
    }

    /** A row that is not read would be a setting without effect. */
    @Test
    void readsEveryRowOfTheTable() {
        Map<String, String> wrong = new HashMap<>();
        NodeSettings.TABLE.rows(3).forEach(row -> wrong.put(row.get(0), "?"));

        assertThat(wrong).hasSize((int) NodeSettings.TABLE.text().lines().count());
        String error = catchThrowable(() -> NodeSettings.of(wrong)).getMessage();
        assertThat(error.split("; ")).hasSameSizeAs(wrong.keySet());
        assertThat(error).contains(wrong.keySet());
    }

    @Test
    void namesAllMistakesAtOnce() {
        Map<String, String> values = Map.of(
                "flow.calls",
                "many",
                "worker.wait",
                "spin",
                "osgi.drain-limit",
                "10",
                "scripts.directory",
                "segments",
                "flows.calls",
                "1");

        assertThatThrownBy(() -> NodeSettings.of(values))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("flow.calls must be a whole number: many")
                .hasMessageContaining(
                        "there is no setting worker.wait; there are worker.default-timeout, worker.waiting")
                .hasMessageContaining("there is no setting flows.calls; settings begin with archive., flow., handler.")
                .hasMessageContaining(
                        "scripts.directory: expected an absolute path, or scripts for the one in the node's own"
                                + " directory, found 'segments'")
                .hasMessageContaining("osgi.drain-limit: a time is a number with");
    }

    @Test
    void readsWhichBundlesStart() {
        assertThat(NodeSettings.of(Map.of("osgi.shipped", "all")).shipped()).isEqualTo(ShippedBundles.ALL);
        assertThat(NodeSettings.of(Map.of("osgi.shipped", "none")).shipped()).isEqualTo(ShippedBundles.named(Set.of()));
        assertThatThrownBy(() -> NodeSettings.of(Map.of("osgi.shipped", "a,,b")))
                .hasMessage("osgi.shipped: expected all, none, or symbolic names of bundles with commas between, found"
                        + " 'a,,b'");
    }

    @Test
    void refusesTimesOfPollingThatAreTooShortOrContradictEachOther() {
        assertThatThrownBy(() -> NodeSettings.of(Map.of("polling.max-sleep", "0", "polling.spin", "quick")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("polling.spin: a time is a number with")
                .hasMessageContaining("polling: max-sleep: expected 1ms to 3600s, found 0");
        assertThatThrownBy(() -> NodeSettings.of(Map.of("polling.rest", "1s")))
                .hasMessage("polling: max-rest: expected 1s to 3600s, found 640ms");
    }

    @Test
    void keepsTimesOfPollingThatAreSetWhenTheStrategyIsOverridden() {
        WorkerSettings worker = NodeSettings.of(Map.of("polling.leader-rest", "0", "worker.waiting", "low-cpu"))
                .worker();

        assertThat(worker.toBuilder().waiting(Waiting.SPIN).build().polling())
                .isEqualTo(NodeSettings.of(Map.of("polling.leader-rest", "0", "worker.waiting", "spin"))
                        .worker()
                        .polling());
    }

    @Test
    void refusesReferencesThatForgetTooEarlyOrAreSentAgainAtOnce() {
        Map<String, String> values = Map.of(
                "rref.grace", "10m", "rref.retry-wait", "0", "rref.retries", "21", "rref.slow-retry-wait", "-1s");

        assertThatThrownBy(() -> NodeSettings.of(values))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("rref.slow-retry-wait: a time is a number with")
                .hasMessageContaining("rref: retries must be 0..20: 21")
                .hasMessageContaining(
                        "rref: ids must be remembered for some time, and at least for the grace period of PT10M: PT2M");
        assertThatThrownBy(() -> NodeSettings.of(Map.of("rref.retry-wait", "0")))
                .hasMessage("rref: the waits between retries must be positive: PT0S, PT30S");
        assertThatThrownBy(() -> NodeSettings.of(Map.of("rref.keep", "all", "rref.grace", "0")))
                .hasMessage("rref: values that are kept need a grace period, in which their users ask for them again:"
                        + " PT0S");
    }

    @Test
    void namesWhatCanNotBeInjected() {
        Map<String, String> values = Map.of(
                "inject.fail", "SCRIPT_RET",
                "inject.delay", "SCRIPT_CALL",
                "inject.duplicate", "SCRIPT_CALL");

        assertThatThrownBy(() -> NodeSettings.of(values))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("inject.fail: no type of requests is called 'SCRIPT_RET'")
                .hasMessageContaining(
                        "inject.delay: expected a type and a time, such as SCRIPT_CALL 500ms, found 'SCRIPT_CALL'")
                .hasMessageContaining("inject: only RREF_USER_DELETE RREF_FORK_REQUEST RREF_CHILD_ACCEPT"
                        + " CLEANUP_AUTOGRAD_CONTEXT_REQ may come twice or in another order, and not SCRIPT_CALL");
    }

    @Test
    void saysWhichFileIsWrong() throws IOException {
        Path file = Files.writeString(directory.resolve("waybill.properties"), "worker.waiting = sleepy\n");

        assertThatThrownBy(() -> NodeConf.read(directory))
                .isInstanceOf(IOException.class)
                .hasMessage(file + ": worker.waiting: expected one of spin, balanced, low-cpu, found 'sleepy'");
    }

    @Test
    void readsADirectoryWithoutFiles() throws IOException {
        NodeConf conf = NodeConf.read(directory);

        assertThat(conf.settings()).isEqualTo(NodeSettings.defaults());
        assertThat(conf.framework()).isEmpty();
    }

    @Test
    void refusesADirectoryThatIsNotThere() {
        Path missing = directory.resolve("cnof");

        assertThatThrownBy(() -> NodeConf.readNamed(missing))
                .isInstanceOf(IOException.class)
                .hasMessage("expected a directory of settings: " + missing);
    }

    /** What the distribution shows as a default must be one. */
    @Test
    void theDistributionsFileShowsTheDefaults() throws IOException {
        Path shipped = Path.of("../felix-config/src/main/conf/waybill.properties");
        String uncommented = Files.readString(shipped).replaceAll("(?m)^#(?=[a-z]+\\.)", "");
        Files.writeString(directory.resolve("waybill.properties"), uncommented);

        assertThat(uncommented).contains("\nworker.waiting = balanced\n");
        assertThat(NodeConf.read(directory).settings()).isEqualTo(NodeSettings.defaults());
    }
}
