package io.waybill.bench.app;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.process.ChildProcess;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.SynchronizedHistogram;

/**
 * A client of the application. First it places orders at random times at a mean rate, whether or not earlier ones have
 * their responses: the time of an order starts at its planned moment. Then it keeps a number of orders in flight.
 */
public final class OrderClient {

    public static final String ROLE = "app-client";

    private static final long SECOND_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long MAX_NS = TimeUnit.MINUTES.toNanos(1);
    private static final long RETRY_NS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int ITEMS = 100;

    private final Worker worker;
    private final Random random;

    private OrderClient(Worker worker, int number) {
        this.worker = worker;
        this.random = new Random(number); // the same arrivals in each round
    }

    /**
     * Arguments: directory, how it waits, its number, orders per second, in flight, seconds of the warm-up, and those
     * that are measured.
     */
    public static void run(String[] arguments) throws Exception {
        int number = Integer.parseInt(arguments[2]);
        double perSecond = Double.parseDouble(arguments[3]);
        int seconds = Integer.parseInt(arguments[6]);
        try (Worker worker = Waybill.connect(EchoServer.home(arguments[0]), "client-" + number)
                .settings(EchoServer.settings(arguments[1]))
                .join()) {
            OrderClient client = new OrderClient(worker, number);
            client.placeFirst();
            ChildProcess.ready();
            ChildProcess.awaitBegin();
            client.offer(perSecond, Integer.parseInt(arguments[5]));
            Figures figures = client.offer(perSecond, seconds);
            ChildProcess.report(
                    figures.put("capacity_per_s", client.keepInFlight(Integer.parseInt(arguments[4]), seconds)));
            ChildProcess.awaitEnd();
        }
    }

    private Request order() {
        Request request =
                Request.operation(OrderServices.ORDERS, OrderServices.PLACE).timeout(Duration.ofMinutes(1));
        request.body()
                .text("customer", "Ada")
                .text("item", "item-" + random.nextInt(ITEMS))
                .int64("count", 2);
        return request;
    }

    /** Places an order as soon as the services have joined. */
    private void placeFirst() {
        long untilNs = System.nanoTime() + MAX_NS;
        while (true) {
            try (Response response = worker.call(order())) {
                response.int64("total");
                return;
            } catch (CallException e) {
                if (System.nanoTime() - untilNs > 0) {
                    throw e;
                }
                LockSupport.parkNanos(RETRY_NS);
            }
        }
    }

    /** Places orders at random times for some seconds, and waits for the responses. */
    private Figures offer(double perSecond, int seconds) {
        SynchronizedHistogram times = new SynchronizedHistogram(MAX_NS, 3);
        AtomicLong failed = new AtomicLong();
        Semaphore responded = new Semaphore(0);
        int placed = 0;
        long startNs = System.nanoTime();
        double atNs = 0;
        while (true) {
            atNs -= Math.log(1 - random.nextDouble()) / perSecond * SECOND_NS;
            if (atNs >= seconds * (double) SECOND_NS) {
                break;
            }
            long intendedNs = startNs + (long) atNs;
            rest(intendedNs);
            placed++;
            worker.callAsync(order()).whenComplete((response, failure) -> {
                if (failure == null) {
                    response.close();
                    times.recordValue(Math.min(MAX_NS, Math.max(0, System.nanoTime() - intendedNs)));
                } else {
                    failed.incrementAndGet();
                }
                responded.release();
            });
        }
        responded.acquireUninterruptibly(placed);
        return new Figures()
                .put("orders", placed - failed.get())
                .put("failed", failed.get())
                .put("times", Percentiles.encode(times));
    }

    private static void rest(long untilNs) {
        for (long leftNs = untilNs - System.nanoTime(); leftNs > 0; leftNs = untilNs - System.nanoTime()) {
            LockSupport.parkNanos(leftNs);
        }
    }

    /** Keeps a number of orders in flight for some seconds; returns the number of responses per second. */
    private long keepInFlight(int inFlight, int seconds) {
        Semaphore free = new Semaphore(inFlight);
        AtomicLong orders = new AtomicLong();
        long startNs = System.nanoTime();
        while (System.nanoTime() - startNs < seconds * SECOND_NS) {
            free.acquireUninterruptibly();
            worker.callAsync(order()).whenComplete((response, failure) -> {
                if (failure == null) {
                    response.close();
                    orders.incrementAndGet();
                }
                free.release();
            });
        }
        free.acquireUninterruptibly(inFlight);
        return Math.round(orders.get() * (double) SECOND_NS / (System.nanoTime() - startNs));
    }
}
