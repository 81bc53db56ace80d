package io.waybill.worker.upkeep;

import io.waybill.dispatch.StuckSettings;
import io.waybill.host.Threads;
import io.waybill.journal.Quota;
import io.waybill.journal.RetentionSettings;
import io.waybill.worker.reference.WorkerReferences;
import io.waybill.worker.serve.ServeParts;
import java.io.IOException;
import java.util.function.Consumer;

/**
 * The parts that maintain one worker in the background, each created before the parts that use it.
 *
 * <p><b>Threads.</b> Created and started by the thread that joins.
 */
public final class UpkeepParts {

    /**
     * Settings of background maintenance.
     *
     * @param quota of the worker's queues, which retention keeps
     */
    public record Settings(RetentionSettings retention, StuckSettings stuck, Quota quota) {}

    public final LowWatermarks lowWatermarks;
    public final OwnQueues ownQueues;
    public final Housekeeper housekeeper;
    public final Retention retention;
    public final RequestDrain drain;
    public final GroupShutdown groupShutdown;
    public final Syncer syncer; // null when nothing is synced

    /** Creates the parts; only the last step, a first sync, takes long and may fail. */
    public UpkeepParts(
            UpkeepContext context, Settings settings, ServeParts served, PeerUpkeep peers, WorkerReferences references)
            throws IOException {
        groupShutdown = new GroupShutdown(context);
        lowWatermarks = new LowWatermarks(context.links(), served.open, served.parking, context.responses());
        retention = new Retention(
                context,
                settings.retention(),
                settings.quota(),
                new QueueReaders(
                        context.directory(),
                        context.journal(),
                        settings.retention().absentPeers().toNanos(),
                        context.links()::members));
        Watchdog watchdog = new Watchdog(
                served.invocations,
                served.open,
                served.inner::look,
                new StuckCalls(settings.stuck(), context.registry(), context.counters()),
                context.clock());
        drain = new RequestDrain(context.host(), served.dispatcher, served.open, context.waiting(), watchdog);
        ownQueues = new OwnQueues(context.directory(), context.pending(), context.requests(), context.responses());
        housekeeper = new Housekeeper(
                context, peers, new JournalUpkeep(context, ownQueues, lowWatermarks), watchdog, references);
        syncer = Syncer.openFor(context);
    }

    /**
     * Starts the threads.
     *
     * @param failed called once, by any thread, when the journal fails
     */
    public void start(String workerName, Threads threads, Consumer<IOException> failed) throws IOException {
        housekeeper.start(workerName, failed);
        retention.start(workerName, threads);
        if (syncer != null) {
            syncer.start(workerName, threads, failed);
        }
    }
}
