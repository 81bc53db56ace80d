package io.waybill.cli.journal;

import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.cli.CommandFailedException;
import io.waybill.cli.UsageException;
import io.waybill.cli.node.Quantities;
import io.waybill.host.Clock;
import io.waybill.query.HomeJournals;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredCall;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Option;

/** The options by which messages are selected. */
final class Selection {

    @Option(names = "--worker", paramLabel = "NAME", description = "Only of this worker's journal. A name or an id.")
    private String worker;

    @Option(names = "--peer", paramLabel = "NAME", description = "Only to this worker. A name or an id.")
    private String peer;

    @Option(
            names = "--type",
            paramLabel = "TYPE",
            description = "Only of this type: SCRIPT_CALL, NAMED_CALL, 0x142, ...")
    private String type;

    @Option(
            names = "--operation",
            paramLabel = "NAME",
            description = "Only calls of this operation; NAME* for all that begin with NAME.")
    private String operation;

    @Option(
            names = "--since",
            paramLabel = "TIME",
            description = "Only sent at this time or later: 2026-11-20, 2026-11-20T08:00, or 10m for ten minutes ago.")
    private String since;

    @Option(names = "--until", paramLabel = "TIME", description = "Only sent before this time.")
    private String until;

    MessageFilter filter(HomeJournals journals, Clock clock, Optional<StoredCall.Outcome> outcome)
            throws UsageException, CommandFailedException {
        return new MessageFilter(
                worker == null ? Optional.empty() : Optional.of(workerId(journals, worker)),
                peer == null ? Optional.empty() : Optional.of(workerId(journals, peer)),
                type == null ? Optional.empty() : Optional.of(typeNamed(type)),
                Optional.ofNullable(operation),
                since == null ? Long.MIN_VALUE : timeNs(since, clock),
                until == null ? Long.MAX_VALUE : timeNs(until, clock),
                outcome);
    }

    private static int workerId(HomeJournals journals, String nameOrId) throws CommandFailedException {
        return journals.worker(nameOrId)
                .map(WorkerInfo::id)
                .orElseThrow(() -> new CommandFailedException(
                        "no worker " + nameOrId + " has a journal here: waybill workers --all lists those that do"));
    }

    private static MessageType typeNamed(String name) throws UsageException {
        return MessageType.named(name.toUpperCase(Locale.ROOT).replace("0X", "0x"))
                .orElseThrow(() -> new UsageException("no message type is named " + name));
    }

    private static long timeNs(String text, Clock clock) throws UsageException {
        try {
            return clock.wallNs() - Quantities.duration(text).toNanos();
        } catch (IllegalArgumentException notADuration) {
            return nanoseconds(instant(text));
        }
    }

    private static Instant instant(String text) throws UsageException {
        try {
            if (text.endsWith("Z")) {
                return Instant.parse(text);
            }
            LocalDateTime local = text.contains("T")
                    ? LocalDateTime.parse(text)
                    : LocalDate.parse(text).atStartOfDay();
            return local.atZone(ZoneId.systemDefault()).toInstant();
        } catch (DateTimeException e) {
            throw new UsageException("a time is written 2026-11-20, 2026-11-20T08:00:30 or 10m, not " + text, e);
        }
    }

    private static long nanoseconds(Instant instant) {
        return TimeUnit.SECONDS.toNanos(instant.getEpochSecond()) + instant.getNano();
    }
}
