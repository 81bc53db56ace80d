package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageType;
import io.waybill.api.tensor.Device;
import io.waybill.archive.ArchiveSettings;
import io.waybill.broker.StateSettings;
import io.waybill.device.DeviceSettings;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RetentionSettings;
import io.waybill.rref.Keeping;
import io.waybill.rref.RRefSettings;
import io.waybill.rref.control.ControlRetries;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.Overflow;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.recover.RecoverySettings;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class WorkerSettingsTest {

    private static final JournalSettings JOURNAL = JournalSettings.defaults().withReserveBytes(1 << 20);
    private static final RetentionSettings RETENTION = RetentionSettings.DEFAULTS.withMaxCycles(2);
    private static final FlowLimits LIMITS = new FlowLimits(1, 2, 3, Overflow.REFUSE);
    private static final ParkingSettings PARKING = new ParkingSettings(4, 5);
    private static final StuckSettings STUCK = new StuckSettings(6, 7, 8);
    private static final TensorConfig TENSORS = new TensorConfig(4096, 8192, 9, 10);
    private static final DeviceSettings DEVICES = DeviceSettings.NONE.withDevices(List.of(Device.parse("toy:0")));
    private static final ArchiveSettings ARCHIVE = ArchiveSettings.DEFAULTS.withWaitingBytes(11);
    private static final RRefSettings REFERENCES = new RRefSettings(
            Duration.ofSeconds(1), Duration.ofSeconds(2), Duration.ofSeconds(3), ControlRetries.DEFAULTS, Keeping.ALL);
    private static final InjectionSettings INJECTION = InjectionSettings.NONE.withFail(MessageType.SCRIPT_CALL);
    private static final RecoverySettings RECOVERY = new RecoverySettings(Duration.ofSeconds(4));
    private static final PollTimes POLLING = new PollTimes(
            Waiting.SPIN, 1, 2, 3, 10_000, 10_001, 1_000_000, 1_000_001, 4, 1_000_002, 1_000_003, 1_000_004);
    private static final StateSettings STATE = new StateSettings(Duration.ofSeconds(7), 8);

    private static final WorkerSettings OTHERS = WorkerSettings.builder()
            .role(WorkerSettings.Role.CALLS_ONLY)
            .polling(POLLING)
            .defaultTimeout(Duration.ofSeconds(5))
            .journal(JOURNAL)
            .retention(RETENTION)
            .limits(LIMITS)
            .parking(PARKING)
            .stuck(STUCK)
            .tensors(TENSORS)
            .devices(DEVICES)
            .archive(ARCHIVE)
            .references(REFERENCES)
            .injection(INJECTION)
            .recovery(RECOVERY)
            .state(STATE)
            .drainLimit(Duration.ofSeconds(6))
            .build();

    @Test
    void hasWhatItsBuilderWasGiven() {
        assertThat(OTHERS)
                .isEqualTo(new WorkerSettings(
                        WorkerSettings.Role.CALLS_ONLY,
                        POLLING,
                        Duration.ofSeconds(5),
                        JOURNAL,
                        RETENTION,
                        LIMITS,
                        PARKING,
                        STUCK,
                        TENSORS,
                        DEVICES,
                        ARCHIVE,
                        REFERENCES,
                        INJECTION,
                        RECOVERY,
                        STATE,
                        Duration.ofSeconds(6)));
    }

    @Test
    void copiesEverySettingToAnotherBuilder() {
        assertThat(OTHERS.toBuilder().build()).isEqualTo(OTHERS);
    }

    @Test
    void changesNothingButWhatItsBuilderIsGiven() {
        WorkerSettings spinning =
                WorkerSettings.defaults().toBuilder().waiting(Waiting.SPIN).build();

        assertThat(spinning.toBuilder().waiting(Waiting.BALANCED).build()).isEqualTo(WorkerSettings.defaults());
        assertThat(spinning.waiting()).isEqualTo(Waiting.SPIN);
    }

    @Test
    void refusesNegativeDurations() {
        WorkerSettings.Builder settings = WorkerSettings.builder();

        assertThatThrownBy(() -> settings.drainLimit(Duration.ofNanos(-1)).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the drain limit must be 0 or more: PT-0.000000001S");
        assertThatThrownBy(() -> settings.drainLimit(Duration.ZERO)
                        .defaultTimeout(Duration.ofNanos(-1))
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("RPC Timeout must be non-negative: PT-0.000000001S");
    }

    @Test
    void refusesMissingSettings() {
        WorkerSettings.Builder settings = WorkerSettings.builder().recovery(null);

        assertThatThrownBy(settings::build).isInstanceOf(NullPointerException.class);
    }
}
