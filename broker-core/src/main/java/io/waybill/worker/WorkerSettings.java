package io.waybill.worker;

import io.waybill.archive.ArchiveSettings;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RetentionSettings;
import io.waybill.rref.RRefSettings;
import io.waybill.tensor.TensorConfig;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.recover.RecoverySettings;
import java.time.Duration;
import java.util.Objects;

/**
 * Settings of a worker.
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
        Objects.requireNonNull(role);
        Objects.requireNonNull(waiting);
        Objects.requireNonNull(journal);
        Objects.requireNonNull(retention);
        Objects.requireNonNull(limits);
        Objects.requireNonNull(parking);
        Objects.requireNonNull(stuck);
        Objects.requireNonNull(tensors);
        Objects.requireNonNull(archive);
        Objects.requireNonNull(references);
        Objects.requireNonNull(injection);
        Objects.requireNonNull(recovery);
        if (drainLimit.isNegative()) {
            throw new IllegalArgumentException("the drain limit must be 0 or more: " + drainLimit);
        }
        if (defaultTimeout.isNegative()) {
            throw new IllegalArgumentException("RPC Timeout must be non-negative: " + defaultTimeout);
        }
    }

    /** What a worker takes when nothing is said. */
    public static WorkerSettings defaults() {
        return new WorkerSettings(
                Role.SERVES,
                Waiting.BALANCED,
                DEFAULT_TIMEOUT,
                JournalSettings.defaults(),
                RetentionSettings.DEFAULTS,
                FlowLimits.defaults(),
                ParkingSettings.DEFAULT,
                StuckSettings.DEFAULT,
                TensorConfig.DEFAULTS,
                ArchiveSettings.DEFAULTS,
                RRefSettings.DEFAULTS,
                InjectionSettings.NONE,
                RecoverySettings.DEFAULTS,
                DRAIN_LIMIT_DEFAULT);
    }

    public WorkerSettings withRole(Role other) {
        return new WorkerSettings(
                other,
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

    public WorkerSettings withWaiting(Waiting other) {
        return new WorkerSettings(
                role,
                other,
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

    public WorkerSettings withDefaultTimeout(Duration other) {
        return new WorkerSettings(
                role,
                waiting,
                other,
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

    public WorkerSettings withJournal(JournalSettings other) {
        return new WorkerSettings(
                role,
                waiting,
                defaultTimeout,
                other,
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

    public WorkerSettings withRetention(RetentionSettings other) {
        return new WorkerSettings(
                role,
                waiting,
                defaultTimeout,
                journal,
                other,
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

    public WorkerSettings withLimits(FlowLimits other) {
        return new WorkerSettings(
                role,
                waiting,
                defaultTimeout,
                journal,
                retention,
                other,
                parking,
                stuck,
                tensors,
                archive,
                references,
                injection,
                recovery,
                drainLimit);
    }

    public WorkerSettings withParking(ParkingSettings other) {
        return new WorkerSettings(
                role,
                waiting,
                defaultTimeout,
                journal,
                retention,
                limits,
                other,
                stuck,
                tensors,
                archive,
                references,
                injection,
                recovery,
                drainLimit);
    }

    public WorkerSettings withStuck(StuckSettings other) {
        return new WorkerSettings(
                role,
                waiting,
                defaultTimeout,
                journal,
                retention,
                limits,
                parking,
                other,
                tensors,
                archive,
                references,
                injection,
                recovery,
                drainLimit);
    }

    public WorkerSettings withTensors(TensorConfig other) {
        return new WorkerSettings(
                role,
                waiting,
                defaultTimeout,
                journal,
                retention,
                limits,
                parking,
                stuck,
                other,
                archive,
                references,
                injection,
                recovery,
                drainLimit);
    }

    public WorkerSettings withArchive(ArchiveSettings other) {
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
                other,
                references,
                injection,
                recovery,
                drainLimit);
    }

    public WorkerSettings withReferences(RRefSettings other) {
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
                other,
                injection,
                recovery,
                drainLimit);
    }

    public WorkerSettings withInjection(InjectionSettings other) {
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
                other,
                recovery,
                drainLimit);
    }

    public WorkerSettings withRecovery(RecoverySettings other) {
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
                other,
                drainLimit);
    }

    public WorkerSettings withDrainLimit(Duration other) {
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
                other);
    }
}
