package io.waybill.bench;

import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.bench.measure.Figures;
import io.waybill.worker.Worker;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench waits}: what a blocking call takes beside its plain handler, which works or sleeps for some time, and what an exchange over a
 * loopback socket takes beside the same. Each side says how long it took itself, so that a late end of its sleep does not count.
 *
 * @param micros how long the handler works or sleeps
 * @param calls of each kind and time, after many short calls and a tenth as many of its own
 * @param rounds odd; each with fresh processes
 * @param waiting how Waybill's workers wait
 */
public record HandlerTimes(List<Integer> micros, int calls, int rounds, String waiting) {

    static final String SERVER_ROLE = "waits-server";
    static final String ROLE = "waits-client";
    static final String SOCKET_SERVER_ROLE = "waits-socket-server";
    static final String SOCKET_ROLE = "waits-socket-client";

    private static final int CODE = 0x42;
    private static final int SHORT_CALLS = 100_000; // before the measured ones, until the code is compiled
    private static final int WARM_UP_SHARE = 10;

    /** Takes so long: works for a positive number of microseconds, sleeps for a negative one. Returns how long that was, in ns. */
    private static long take(int micros) {
        long sinceNs = System.nanoTime();
        long untilNs = sinceNs + TimeUnit.MICROSECONDS.toNanos(Math.abs(micros));
        for (long nowNs = sinceNs; nowNs - untilNs < 0; nowNs = System.nanoTime()) {
            if (micros < 0) {
                LockSupport.parkNanos(untilNs - nowNs);
            } else {
                Thread.onSpinWait();
            }
        }
        return System.nanoTime() - sinceNs;
    }

    /** One exchange with the side that takes some time. */
    @FunctionalInterface
    private interface Exchange {
        /** Returns how long the other side took itself, in ns. */
        long exchange(int micros) throws IOException;
    }

    public Figures run(Consumer<String> progress) throws IOException {
        List<Figures> rows = new ArrayList<>();
        for (int time : micros) {
            for (int signed : new int[] {time, -time}) {
                rows.add(row(signed, progress));
            }
        }
        return new Figures()
                .put("calls", calls)
                .put("rounds", rounds)
                .put("waiting", waiting.toLowerCase(Locale.ROOT).replace('_', '-'))
                .put("handlers", rows);
    }

    private Figures row(int signed, Consumer<String> progress) throws IOException {
        List<Figures> ours = new ArrayList<>();
        List<Figures> sockets = new ArrayList<>();
        for (int round = 1; round <= rounds; round++) {
            progress.accept("round " + round + " of " + rounds + ": a handler that " + (signed > 0 ? "works" : "sleeps")
                    + " for " + Math.abs(signed) + " us");
            try (Children children = new Children()) {
                Children.Child server = children.start(SOCKET_SERVER_ROLE);
                sockets.add(children.start(SOCKET_ROLE, server.line(), signed, calls)
                        .figures());
            }
            try (Children children = new Children()) {
                Path home = children.directory().resolve("home");
                children.start(SERVER_ROLE, home, waiting);
                ours.add(children.start(ROLE, home, waiting, signed, calls).figures());
            }
        }
        Figures row =
                new Figures().put("handler", signed > 0 ? "works" : "sleeps").put("micros", Math.abs(signed));
        Figures.putMedians(row, "", ours);
        Figures.putMedians(row, "socket_", sockets);
        return row.put("ratio_p50", (double) row.integer("beside_p50_ns") / row.integer("socket_beside_p50_ns"));
    }

    private static Figures time(int micros, int calls, Exchange exchange) throws IOException {
        for (int i = 0; i < SHORT_CALLS; i++) {
            exchange.exchange(1);
        }
        Histogram beside = new Histogram(TimeUnit.SECONDS.toNanos(10), 3);
        for (int i = -calls / WARM_UP_SHARE; i < calls; i++) {
            long startNs = System.nanoTime();
            long takenNs = exchange.exchange(micros);
            if (i >= 0) {
                beside.recordValue(Math.max(0, System.nanoTime() - startNs - takenNs));
            }
        }
        return new Figures()
                .put("beside_p50_ns", beside.getValueAtPercentile(50))
                .put("beside_p90_ns", beside.getValueAtPercentile(90))
                .put("beside_p99_ns", beside.getValueAtPercentile(99));
    }

    // ---- Waybill

    private static final class Handler implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) {
            outbox.respond(ByteBuffer.allocate(Long.BYTES)
                    .putLong(0, take(message.payload().getInt(0))));
        }
    }

    /** Arguments: home, waiting. */
    static void server(String[] arguments) throws IOException {
        EchoServer.serve(
                Path.of(arguments[0]), EchoServer.NAME, EchoServer.settings(arguments[1]), false, new Handler());
    }

    /** Arguments: home, waiting, microseconds (negative: the handler sleeps), calls. */
    static void client(String[] arguments) throws IOException {
        try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
            BenchProcess.ready();
            BenchProcess.report(time(Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]), micros -> {
                ByteBuffer payload = ByteBuffer.allocate(Integer.BYTES).putInt(0, micros);
                Request request = Request.raw(EchoServer.NAME, MessageType.userRequest(CODE), payload, List.of());
                try (Response response = worker.call(request)) {
                    return response.payload().getLong(0);
                }
            }));
            BenchProcess.awaitEnd();
        }
    }

    // ---- a socket

    /** Prints its port once it is ready. */
    static void socketServer(String[] arguments) throws IOException {
        BenchProcess.endWithParent();
        try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            BenchProcess.ready();
            BenchProcess.report(new Figures().put("port", listening.getLocalPort()));
            try (Socket socket = listening.accept()) {
                socket.setTcpNoDelay(true);
                DataInputStream from = new DataInputStream(socket.getInputStream());
                DataOutputStream to = new DataOutputStream(socket.getOutputStream());
                while (true) { // until it is ended
                    to.writeLong(take(from.readInt()));
                }
            }
        }
    }

    /** Arguments: {@code port=} and the server's port, microseconds, calls. */
    static void socketClient(String[] arguments) throws IOException {
        int port = (int) Figures.parse(arguments[0]).integer("port");
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setTcpNoDelay(true);
            DataInputStream from = new DataInputStream(socket.getInputStream());
            DataOutputStream to = new DataOutputStream(socket.getOutputStream());
            BenchProcess.ready();
            BenchProcess.report(time(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]), micros -> {
                to.writeInt(micros);
                return from.readLong();
            }));
            BenchProcess.awaitEnd();
        }
    }
}
