package io.waybill.worker;

import io.waybill.archive.ArchiveSettings;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RetentionSettings;
import io.waybill.rref.RRefSettings;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.recover.RecoverySettings;
import java.time.Duration;
import java.util.Objects;

/**
 * Settings of a worker, made by its {@link Builder}. Immutable.
 *
 * @param role whether it answers requests
 * @param waiting how its threads wait
 * @param defaultTimeout of calls that give none; {@link Duration#ZERO} for none
 * @param journal of both its queues
 * @param retention of their files
 * @param limits of what may be on its way
 * @param parking of requests whose handler left
 * @param stuck of handlers that don't come back
 * @param tensors of tensors in transit
 * @param archive of what is kept of them
 * @param references of remote references
 * @param injection of faults that it makes on purpose
 * @param recovery of what happens to calls when a worker dies and returns
 * @param drainLimit how long {@link Worker#close} waits for the requests that were begun; {@link Duration#ZERO} for not at all
 */
public record WorkerSettings(
        Role role,
        Waiting waiting,
        Duration defaultTimeout,
        JournalSettings journal,
        RetentionSettings retention,
        FlowLimits limits,
        ParkingSettings parking,
        StuckSettings stuck,
        TensorConfig tensors,
        ArchiveSettings archive,
        RRefSettings references,
        InjectionSettings injection,
        RecoverySettings recovery,
        Duration drainLimit) {

    /** PyTorch's default. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(60);

    public static final Duration DRAIN_LIMIT_DEFAULT = Duration.ofSeconds(10);

    /** Whether a worker answers requests. */
    public enum Role {
        /** Sends and serves. */
        SERVES,
        /** Only sends; reads no peer's requests. */
        CALLS_ONLY
    }

    public WorkerSettings {
        Object[] required = {
            role, waiting, journal, retention, limits, parking, stuck, tensors, archive, references, injection, recovery
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

    /** The settings of a worker for which none are given. */
    public static WorkerSettings defaults() {
        return builder().build();
    }

    /** Starts from {@link #defaults}. */
    public static Builder builder() {
        return new Builder();
    }

    /** Starts from these settings. */
    public Builder toBuilder() {
        return new Builder()
                .role(role)
                .waiting(waiting)
                .defaultTimeout(defaultTimeout)
                .journal(journal)
                .retention(retention)
                .limits(limits)
                .parking(parking)
                .stuck(stuck)
                .tensors(tensors)
                .archive(archive)
                .references(references)
                .injection(injection)
                .recovery(recovery)
                .drainLimit(drainLimit);
    }

    /** Collects settings. For one thread. */
    public static final class Builder {
        private Role role = Role.SERVES;
        private Waiting waiting = Waiting.BALANCED;
        private Duration defaultTimeout = DEFAULT_TIMEOUT;
        private JournalSettings journal = JournalSettings.defaults();
        private RetentionSettings retention = RetentionSettings.DEFAULTS;
        private FlowLimits limits = FlowLimits.defaults();
        private ParkingSettings parking = ParkingSettings.DEFAULT;
        private StuckSettings stuck = StuckSettings.DEFAULT;
        private TensorConfig tensors = TensorConfig.DEFAULTS;
        private ArchiveSettings archive = ArchiveSettings.DEFAULTS;
        private RRefSettings references = RRefSettings.DEFAULTS;
        private InjectionSettings injection = InjectionSettings.NONE;
        private RecoverySettings recovery = RecoverySettings.DEFAULTS;
        private Duration drainLimit = DRAIN_LIMIT_DEFAULT;

        private Builder() {}

        /** Sets {@link WorkerSettings#role}. */
        public Builder role(Role other) {
            role = other;
            return this;
        }

        /** Sets {@link WorkerSettings#waiting}. */
        public Builder waiting(Waiting other) {
            waiting = other;
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

        /** Sets {@link WorkerSettings#drainLimit}. */
        public Builder drainLimit(Duration other) {
            drainLimit = other;
            return this;
        }

        /**
         * The settings.
         *
         * @throws IllegalArgumentException if a duration is negative
         */
        public WorkerSettings build() {
            return new WorkerSettings(
                    role,
                    waiting,
                    defaultTimeout,
                    journal,
                    retention,
                    limits,
                    parking,
                    stuck,
                    tensors,
                    archive,
                    references,
                    injection,
                    recovery,
                    drainLimit);
        }
    }
}
