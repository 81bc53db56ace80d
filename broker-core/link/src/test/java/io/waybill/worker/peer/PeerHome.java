package io.waybill.worker.peer;

import io.waybill.device.DeviceSettings;
import io.waybill.home.Home;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerState;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.tensor.segment.RegionHolder;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A home with one worker that has links, and others that have joined with their queues; none of them runs anything. */
final class PeerHome implements AutoCloseable {

    final Host host = Host.real();
    final Home home;
    final WorkerDirectory own;
    final TensorTransit transit;
    final PollPermit permit = new PollPermit(new FaultAlarm(host.threads()));
    final Links links;
    private final List<AutoCloseable> opened = new ArrayList<>();

    PeerHome(Path directory, boolean serves) throws IOException, JournalFullException {
        home = Home.open(directory.resolve("home"), host);
        own = join("own");
        transit = new TensorTransit(own, TensorConfig.DEFAULTS, DeviceSettings.NONE, RegionHolder.NONE);
        opened.add(transit);
        links = new Links(own, serves, PublishingRoom.JOURNAL, permit, transit);
        opened.add(links::close);
    }

    /** Joins with queues on disk, so that others can link to it. */
    WorkerDirectory join(String name) throws IOException, JournalFullException {
        WorkerDirectory joined = joinWithoutQueues(name);
        for (JournalQueue queue : JournalQueue.values()) {
            Path path = joined.subdirectory(queue.directoryName());
            Journal journal = JournalOpener.open(
                    path, PublishingRoom.JOURNAL, host.clock(), UnreservedDisk.by(WrittenQueue::reserve));
            opened.add(journal::close);
        }
        joined.publish(WorkerState.READY, List.of(), Map.of());
        return joined;
    }

    WorkerDirectory joinWithoutQueues(String name) throws IOException {
        WorkerDirectory joined = home.join(name);
        opened.add(joined);
        return joined;
    }

    @Override
    public void close() throws IOException {
        CloseSteps steps = new CloseSteps();
        for (int i = opened.size() - 1; i >= 0; i--) {
            AutoCloseable each = opened.get(i);
            steps.attempt(each::close);
        }
        steps.finish();
    }
}
