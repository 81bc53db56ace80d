package io.waybill.cli.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.MessageSelection;
import io.waybill.cli.select.OutcomeSelection;
import io.waybill.host.Clock;
import io.waybill.query.MessageFilter;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options that select the calls of a replay. */
final class CallSelection {

    @Option(
            names = "--to",
            paramLabel = "NAME",
            description = "Only calls that this worker responded to. A name or an id. Default: every worker's.")
    private String worker;

    @Option(names = "--from", paramLabel = "NAME", description = "Only calls that this worker made. A name or an id.")
    private String from;

    @Mixin
    private MessageSelection messages;

    @Mixin
    private OutcomeSelection outcomes;

    /** Returns the worker whose handlers run; empty for all workers. */
    Optional<WorkerInfo> worker(List<WorkerInfo> workers) throws CommandFailedException {
        return worker == null ? Optional.empty() : Optional.of(named(worker, workers));
    }

    MessageFilter filter(List<WorkerInfo> workers, Clock clock) throws UsageException, CommandFailedException {
        MessageFilter.Builder filter = new MessageFilter.Builder();
        if (from != null) {
            filter.worker(named(from, workers).id());
        }
        return outcomes.addTo(messages.addTo(filter, clock)).build();
    }

    private static WorkerInfo named(String nameOrId, List<WorkerInfo> workers) throws CommandFailedException {
        return workers.stream()
                .filter(info -> info.name().equals(nameOrId)
                        || Integer.toString(info.id()).equals(nameOrId))
                .findFirst()
                .orElseThrow(() -> new CommandFailedException("no worker " + nameOrId + " is on record; there are "
                        + String.join(
                                ", ", workers.stream().map(WorkerInfo::name).toList())));
    }
}
