package io.waybill.bench;

import io.waybill.bench.measure.Figures;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.whiteboard.DeviceConverters;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/**
 * A node that takes orders on its standard input, one a line, and responds to each with a line: {@code install JAR},
 * {@code update JAR}, {@code figures}.
 */
final class BenchNode {

    static final String ROLE = "node";
    static final String NAME = "bench-node";

    private static final long COLLECT_LIMIT_NS = 20_000_000_000L;

    private BenchNode() {}

    /**
     * Runs the node. Arguments: home, directory of the bundles, a directory for the node, directory of libtorch's
     * natives.
     */
    static void run(String[] arguments) throws Exception {
        Host host = Host.real();
        Path own = Path.of(arguments[2]);
        Path watched = Files.createDirectories(own.resolve("watched"));
        Path conf = Files.createDirectories(own.resolve("conf"));
        OsgiSettings settings = OsgiSettings.builder(Path.of(arguments[1]), watched, own, conf)
                .framework(Map.of("waybill.torch.natives", arguments[3]))
                .build();
        HandlerRegistry handlers = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        try (Worker worker = Worker.join(
                        Home.open(Path.of(arguments[0]), host),
                        NAME,
                        JoinOptions.defaults(),
                        WorkerSettings.defaults(),
                        handlers);
                OsgiHost osgi = OsgiHost.start(
                        settings,
                        handlers,
                        DeviceConverters.into(worker.devices()),
                        worker.interceptors(),
                        Optional.of(worker.brokers()),
                        host)) {
            worker.ready(Map.of());
            ChildProcess.ready();
            obey(worker, osgi);
        }
    }

    /** Sends an order to a node, and returns its response. */
    static Figures order(Children.Child node, String order) throws IOException {
        node.process().getOutputStream().write((order + "\n").getBytes(StandardCharsets.UTF_8));
        node.process().getOutputStream().flush();
        return node.figures();
    }

    private static void obey(Worker worker, OsgiHost osgi) throws IOException, BundleRefusedException {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            String[] words = order.split(" ", 2);
            switch (words[0]) {
                case "install" -> osgi.bundles().install(Path.of(words[1]));
                case "update" -> osgi.bundles().update(Path.of(words[1]));
                default -> {
                    ChildProcess.report(new Figures()
                            .put("begun", worker.counters().requestsBegun())
                            .put("leaked_loaders", leakedLoaders(osgi)));
                    continue;
                }
            }
            ChildProcess.report(new Figures().put("done", 1));
        }
    }

    /** Returns the number of class loaders of retired bundles that are still reachable after repeated collections. */
    private static int leakedLoaders(OsgiHost osgi) {
        long untilNs = System.nanoTime() + COLLECT_LIMIT_NS;
        int leaked = Integer.MAX_VALUE;
        while (leaked > 0 && System.nanoTime() < untilNs) {
            System.gc();
            LockSupport.parkNanos(200_000_000);
            leaked = osgi.loaders().leaked(Duration.ZERO).size();
        }
        return leaked;
    }
}
