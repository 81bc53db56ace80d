package io.waybill.cli.select;

import io.waybill.api.WorkerInfo;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.UsageException;
import io.waybill.host.Clock;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredMessages;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options that select messages. */
public final class SelectionOptions {

    @Option(
            names = "--from",
            paramLabel = "NAME",
            description = "Only sent by this worker, which has them in its journal. A name or an id.")
    private String worker;

    @Option(names = "--to", paramLabel = "NAME", description = "Only to this worker. A name or an id.")
    private String peer;

    @Mixin
    private MessageSelection messages;

    public MessageFilter.Builder builder(StoredMessages journals, Clock clock)
            throws UsageException, CommandFailedException {
        MessageFilter.Builder filter = new MessageFilter.Builder();
        if (worker != null) {
            filter.worker(workerId(journals, worker));
        }
        if (peer != null) {
            filter.peer(workerId(journals, peer));
        }
        return messages.addTo(filter, clock);
    }

    /** Returns the id of a worker with a journal, by its name or id. */
    public static int workerId(StoredMessages journals, String nameOrId) throws CommandFailedException {
        return journals.worker(nameOrId)
                .map(WorkerInfo::id)
                .orElseThrow(() -> new CommandFailedException(
                        "no worker " + nameOrId + " has a journal here: waybill workers --all lists those that do"));
    }
}
