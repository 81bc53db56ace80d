package io.waybill.bench.app;

import io.waybill.api.Caller;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.MessageHandler;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.measure.Work;
import io.waybill.bench.process.ChildProcess;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * The services of the application. {@code orders} computes for a while, has {@code stock} reserve an item, which writes
 * a row, and has {@code payments} charge it, which writes a row and syncs it.
 *
 * <p>Arguments of a service: directory, how it waits, microseconds of work.
 */
public final class OrderServices {

    public static final String ORDERS_ROLE = "app-orders";
    public static final String STOCK_ROLE = "app-stock";
    public static final String PAYMENTS_ROLE = "app-payments";
    public static final String ALONE_ROLE = "app-alone";

    static final String ORDERS = "orders";
    static final String PLACE = "orders.place";

    private static final String STOCK = "stock";
    private static final String RESERVE = "stock.reserve";
    private static final String PAYMENTS = "payments";
    private static final String CHARGE = "payments.charge";
    private static final long PRICE = 1_250;
    private static final long SECOND_NS = TimeUnit.SECONDS.toNanos(1);

    private OrderServices() {}

    /** A file with a row for each order. Threads: any. */
    private static final class Table implements AutoCloseable {
        private final FileChannel file;

        Table(String directory, String name) throws IOException {
            file = FileChannel.open(Path.of(directory, name), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }

        void append(String row) {
            try {
                file.write(ByteBuffer.wrap(row.getBytes(StandardCharsets.UTF_8)));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        void sync() {
            try {
                file.force(false);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }

    private static void serve(String[] arguments, String name, String operation, MessageHandler handler)
            throws IOException {
        Worker worker = Waybill.connect(EchoServer.home(arguments[0]), name)
                .settings(EchoServer.settings(arguments[1]))
                .with(operation, handler)
                .join();
        try (worker) {
            ChildProcess.ready();
            ChildProcess.awaitEnd();
        }
    }

    public static void orders(String[] arguments) throws IOException {
        Work work = work(arguments);
        serve(arguments, ORDERS, PLACE, (message, outbox) -> {
            String item = message.text("item");
            long count = message.int64("count");
            work.perform(new byte[Work.MIN_BYTES]);
            reserve(outbox.caller(), item, count);
            outbox.response().int64("total", charge(outbox.caller(), message.text("customer"), count * PRICE));
        });
    }

    private static void reserve(Caller caller, String item, long count) {
        Request request = Request.operation(STOCK, RESERVE);
        request.body().text("item", item).int64("count", count);
        caller.call(request).close();
    }

    private static long charge(Caller caller, String customer, long cents) {
        Request request = Request.operation(PAYMENTS, CHARGE);
        request.body().text("customer", customer).int64("cents", cents);
        try (Response response = caller.call(request)) {
            return response.int64("charged");
        }
    }

    public static void stock(String[] arguments) throws IOException {
        try (Table table = new Table(arguments[0], STOCK)) {
            serve(arguments, STOCK, RESERVE, (message, outbox) -> {
                table.append(message.text("item") + "," + message.int64("count") + "\n");
                outbox.response().bool("reserved", true);
            });
        }
    }

    public static void payments(String[] arguments) throws IOException {
        try (Table table = new Table(arguments[0], PAYMENTS)) {
            serve(arguments, PAYMENTS, CHARGE, (message, outbox) -> {
                long cents = message.int64("cents");
                table.append(message.text("customer") + "," + cents + "\n");
                table.sync();
                outbox.response().int64("charged", cents);
            });
        }
    }

    private static Work work(String[] arguments) {
        return new Work(Integer.parseInt(arguments[2]), 0);
    }

    /**
     * The work of all services for one order after the other, in one thread and without calls. Arguments: those of a
     * service, seconds.
     */
    public static void alone(String[] arguments) throws IOException {
        ChildProcess.ready();
        Work work = work(arguments);
        Histogram times = new Histogram(TimeUnit.MINUTES.toNanos(1), 3);
        long startNs = System.nanoTime();
        try (Table stock = new Table(arguments[0], STOCK + "-alone");
                Table payments = new Table(arguments[0], PAYMENTS + "-alone")) {
            for (long atNs = startNs; atNs - startNs < Integer.parseInt(arguments[3]) * SECOND_NS; ) {
                work.perform(new byte[Work.MIN_BYTES]);
                stock.append("pen,2\n");
                payments.append("Ada," + 2 * PRICE + "\n");
                payments.sync();
                long nowNs = System.nanoTime();
                times.recordValue(nowNs - atNs);
                atNs = nowNs;
            }
        }
        Figures figures = Percentiles.of(times);
        ChildProcess.report(figures);
        ChildProcess.awaitEnd();
    }
}
