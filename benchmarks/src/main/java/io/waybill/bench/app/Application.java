package io.waybill.bench.app;

import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.process.Children;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench app}: an application of three services that call each other, and clients that place orders at random
 * times; each is a program of its own. Beside it the work of all services for one order, in one thread. A row for each
 * number of clients; each round has fresh processes, and each figure is the median over the rounds.
 *
 * @param clients numbers of them
 * @param rounds odd
 * @param waiting how all of them wait
 */
public record Application(Load load, List<Integer> clients, int rounds, String waiting) {

    /**
     * Load of all clients together.
     *
     * @param perSecond orders, as a mean
     * @param inFlight orders, when the capacity is measured
     * @param workMicros for which the first service keeps a processor busy
     */
    public record Load(int perSecond, int inFlight, int workMicros, int warmUpSeconds, int seconds) {}

    private static final List<String> SERVICES =
            List.of(OrderServices.STOCK_ROLE, OrderServices.PAYMENTS_ROLE, OrderServices.ORDERS_ROLE);

    public Figures run(Consumer<String> progress) throws IOException {
        List<Figures> rows = new ArrayList<>();
        for (int number : clients) {
            List<Figures> together = new ArrayList<>();
            List<Figures> alone = new ArrayList<>();
            for (int round = 1; round <= rounds; round++) {
                progress.accept("round " + round + " of " + rounds + ": " + number + " clients");
                together.add(round(number));
                alone.add(alone());
            }
            Figures row = new Figures().put("clients", number);
            Figures.putMedians(row, "", together);
            Figures.putMedians(row, "alone_", alone);
            for (String name : List.of("p50", "p99")) {
                row.put("ratio_" + name, row.number(name + "_ns") / row.number("alone_" + name + "_ns"));
            }
            rows.add(row);
        }
        return new Figures()
                .put("offered_per_s", load.perSecond())
                .put("in_flight", load.inFlight())
                .put("work_micros", load.workMicros())
                .put("warm_up_seconds", load.warmUpSeconds())
                .put("seconds", load.seconds())
                .put("rounds", rounds)
                .putChoice("waiting", waiting)
                .put("numbers", rows);
    }

    private Figures alone() throws IOException {
        try (Children children = Children.ofProgram()) {
            return children.start(
                            OrderServices.ALONE_ROLE, children.directory(), waiting, load.workMicros(), load.seconds())
                    .figures();
        }
    }

    private Figures round(int number) throws IOException {
        String how = waiting + EchoServer.BY_DEFAULT;
        try (Children children = Children.ofProgram()) {
            long startNs = System.nanoTime();
            for (String service : SERVICES) {
                children.launch(service, children.directory(), how, load.workMicros());
            }
            List<Children.Child> clients = new ArrayList<>();
            for (int i = 0; i < number; i++) {
                clients.add(children.launch(
                        OrderClient.ROLE,
                        children.directory(),
                        how,
                        i,
                        (double) load.perSecond() / number,
                        Math.max(1, load.inFlight() / number),
                        load.warmUpSeconds(),
                        load.seconds()));
            }
            for (Children.Child client : clients) {
                client.awaitReady();
            }
            long readyNs = System.nanoTime() - startNs;
            for (Children.Child client : clients) {
                client.begin();
            }
            return together(clients).put("first_orders_ms", TimeUnit.NANOSECONDS.toMillis(readyNs));
        }
    }

    private static Figures together(List<Children.Child> clients) throws IOException {
        Histogram times = new Histogram(TimeUnit.MINUTES.toNanos(1), 3);
        long orders = 0;
        long failed = 0;
        long capacity = 0;
        for (Children.Child client : clients) {
            Figures figures = client.figures();
            times.add(Percentiles.decode(figures.text("times")));
            orders += figures.integer("orders");
            failed += figures.integer("failed");
            capacity += figures.integer("capacity_per_s");
        }
        Figures figures = Percentiles.of(times);
        return figures.put("orders", orders).put("failed", failed).put("capacity_per_s", capacity);
    }
}
