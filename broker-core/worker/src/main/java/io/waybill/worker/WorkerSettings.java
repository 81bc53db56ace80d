package io.waybill.worker;

import io.waybill.archive.ArchiveSettings;
import io.waybill.broker.StateSettings;
import io.waybill.device.DeviceSettings;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.home.Home;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RetentionSettings;
import io.waybill.journal.Roll;
import io.waybill.rref.RRefSettings;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.recover.RecoverySettings;
import java.time.Duration;
import java.util.Objects;

/**
 * Settings of a worker, created by its {@link Builder}. Immutable.
 *
 * @param role whether it serves requests
 * @param polling wait strategy and times of its threads
 * @param defaultTimeout for calls without a timeout; {@link Duration#ZERO} for none
 * @param journal settings of both queues
 * @param retention settings of the queues' files
 * @param limits of calls and bytes in flight
 * @param parking settings of requests whose handler was removed
 * @param stuck settings of handlers that do not return
 * @param tensors settings of tensors in transit
 * @param devices the worker's devices, and the devices of peers on which its tensors arrive
 * @param archive settings of the tensor archive
 * @param references settings of remote references
 * @param injection settings of fault injection
 * @param recovery settings of calls whose worker ends and restarts
 * @param state settings of stores that are kept on disk
 * @param drainLimit max time that {@link Worker#close} waits for requests that were begun, and then again for receivers
 *     of shared device memory; {@link Duration#ZERO} for no wait
 */
public record WorkerSettings(
        Role role,
        PollTimes polling,
        Duration defaultTimeout,
        JournalSettings journal,
        RetentionSettings retention,
        FlowLimits limits,
        ParkingSettings parking,
        StuckSettings stuck,
        TensorConfig tensors,
        DeviceSettings devices,
        ArchiveSettings archive,
        RRefSettings references,
        InjectionSettings injection,
        RecoverySettings recovery,
        StateSettings state,
        Duration drainLimit) {

    /** Default timeout, as in PyTorch. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(60);

    public static final Duration DRAIN_LIMIT_DEFAULT = Duration.ofSeconds(10);

    /** Role of a worker: whether it serves requests. */
    public enum Role {
        /** Sends and serves requests. */
        SERVES,
        /** Only sends requests; does not read the requests of peers. */
        CALLS_ONLY
    }

    public WorkerSettings {
        Object[] required = {
            role,
            polling,
            journal,
            retention,
            limits,
            parking,
            stuck,
            tensors,
            devices,
            archive,
            references,
            injection,
            recovery,
            state
        };
        for (Object each : required) {
            Objects.requireNonNull(each);
        }
        if (drainLimit.isNegative()) {
            throw new IllegalArgumentException("the drain limit must be 0 or more: " + drainLimit);
        }
        if (defaultTimeout.isNegative()) {
            throw new IllegalArgumentException("RPC Timeout must be non-negative: " + defaultTimeout);
        }
    }

    /** Returns the default settings. */
    public static WorkerSettings defaults() {
        return builder().build();
    }

    /** Returns a builder with the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the wait strategy of its threads. */
    public Waiting waiting() {
        return polling.waiting();
    }

    /**
     * Returns these settings with the roll cycle of a home: all its workers use the same roll cycle, which they need to
     * read each other's queues.
     */
    WorkerSettings in(Home home) {
        return toBuilder()
                .journal(retention.fit(journal).withRoll(Roll.named(home.rollCycle())))
                .build();
    }

    /** Returns a builder with these settings. */
    public Builder toBuilder() {
        return new Builder()
                .role(role)
                .polling(polling)
                .defaultTimeout(defaultTimeout)
                .journal(journal)
                .retention(retention)
                .limits(limits)
                .parking(parking)
                .stuck(stuck)
                .tensors(tensors)
                .devices(devices)
                .archive(archive)
                .references(references)
                .injection(injection)
                .recovery(recovery)
                .state(state)
                .drainLimit(drainLimit);
    }

    /** Builder of settings. Not thread-safe. */
    public static final class Builder {
        private Role role = Role.SERVES;
        private PollTimes polling = PollTimes.of(Waiting.BALANCED);
        private Duration defaultTimeout = DEFAULT_TIMEOUT;
        private JournalSettings journal = JournalSettings.defaults();
        private RetentionSettings retention = RetentionSettings.DEFAULTS;
        private FlowLimits limits = FlowLimits.defaults();
        private ParkingSettings parking = ParkingSettings.DEFAULT;
        private StuckSettings stuck = StuckSettings.DEFAULT;
        private TensorConfig tensors = TensorConfig.DEFAULTS;
        private DeviceSettings devices = DeviceSettings.NONE;
        private ArchiveSettings archive = ArchiveSettings.DEFAULTS;
        private RRefSettings references = RRefSettings.DEFAULTS;
        private InjectionSettings injection = InjectionSettings.NONE;
        private RecoverySettings recovery = RecoverySettings.DEFAULTS;
        private StateSettings state = StateSettings.DEFAULTS;
        private Duration drainLimit = DRAIN_LIMIT_DEFAULT;

        private Builder() {}

        /** Sets {@link WorkerSettings#role}. */
        public Builder role(Role other) {
            role = other;
            return this;
        }

        /** Sets the wait strategy of {@link WorkerSettings#polling}. */
        public Builder waiting(Waiting other) {
            polling = polling.with(other);
            return this;
        }

        /** Sets {@link WorkerSettings#polling}. */
        public Builder polling(PollTimes other) {
            polling = other;
            return this;
        }

        /** Sets {@link WorkerSettings#defaultTimeout}. */
        public Builder defaultTimeout(Duration other) {
            defaultTimeout = other;
            return this;
        }

        /** Sets {@link WorkerSettings#journal}. */
        public Builder journal(JournalSettings other) {
            journal = other;
            return this;
        }

        /** Sets {@link WorkerSettings#retention}. */
        public Builder retention(RetentionSettings other) {
            retention = other;
            return this;
        }

        /** Sets {@link WorkerSettings#limits}. */
        public Builder limits(FlowLimits other) {
            limits = other;
            return this;
        }

        /** Sets {@link WorkerSettings#parking}. */
        public Builder parking(ParkingSettings other) {
            parking = other;
            return this;
        }

        /** Sets {@link WorkerSettings#stuck}. */
        public Builder stuck(StuckSettings other) {
            stuck = other;
            return this;
        }

        /** Sets {@link WorkerSettings#tensors}. */
        public Builder tensors(TensorConfig other) {
            tensors = other;
            return this;
        }

        /** Sets {@link WorkerSettings#devices}. */
        public Builder devices(DeviceSettings other) {
            devices = other;
            return this;
        }

        /** Sets {@link WorkerSettings#archive}. */
        public Builder archive(ArchiveSettings other) {
            archive = other;
            return this;
        }

        /** Sets {@link WorkerSettings#references}. */
        public Builder references(RRefSettings other) {
            references = other;
            return this;
        }

        /** Sets {@link WorkerSettings#injection}. */
        public Builder injection(InjectionSettings other) {
            injection = other;
            return this;
        }

        /** Sets {@link WorkerSettings#recovery}. */
        public Builder recovery(RecoverySettings other) {
            recovery = other;
            return this;
        }

        /** Sets {@link WorkerSettings#state}. */
        public Builder state(StateSettings other) {
            state = other;
            return this;
        }

        /** Sets {@link WorkerSettings#drainLimit}. */
        public Builder drainLimit(Duration other) {
            drainLimit = other;
            return this;
        }

        /**
         * Builds the settings.
         *
         * @throws IllegalArgumentException if a duration is negative
         */
        public WorkerSettings build() {
            return new WorkerSettings(
                    role,
                    polling,
                    defaultTimeout,
                    journal,
                    retention,
                    limits,
                    parking,
                    stuck,
                    tensors,
                    devices,
                    archive,
                    references,
                    injection,
                    recovery,
                    state,
                    drainLimit);
        }
    }
}
