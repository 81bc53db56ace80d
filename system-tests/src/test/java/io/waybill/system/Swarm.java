package io.waybill.system;

import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Workers of this process that respond with what they are sent. Closes those that are open. */
final class Swarm implements AutoCloseable {

    private final Host host = Host.real();
    private final Home home;
    private final CallLog log;
    private final List<Worker> open = new ArrayList<>();

    /** @param log every request that is handled goes here */
    Swarm(Path directory, Path log) throws IOException {
        home = Home.open(directory, host);
        this.log = new CallLog(log);
    }

    Home home() {
        return home;
    }

    Worker join(String name) throws IOException {
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        registry.expectMore();
        Worker worker =
                Worker.join(home, name, JoinOptions.defaults(), WorkerMain.settings(Processes.RESERVE), registry);
        open.add(worker);
        WorkerMain.serve(registry, log, worker.directory().epoch());
        registry.expectNoMore();
        worker.ready(Map.of());
        return worker;
    }

    void leave(Worker worker) throws IOException {
        open.remove(worker);
        worker.close();
    }

    @Override
    public void close() throws IOException {
        for (Worker worker : open) {
            worker.close();
        }
        log.close();
    }
}
