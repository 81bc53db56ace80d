package io.waybill.bench;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.bench.measure.Figures;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/** A process of {@code bench pairs}: it responds to all that call it, and calls its partners in turn once it is told to. */
final class PairMember {

    static final String ROLE = "pair-member";

    /** The partners of one that only responds. */
    static final String NO_PEER = "-";

    private static final String NAME = "bench-pair-";

    private PairMember() {}

    /**
     * How long a member calls.
     *
     * @param firstSeconds right after all have joined; their times are reported apart
     * @param warmUpSeconds after these, not reported
     * @param seconds after these
     */
    record Phases(int firstSeconds, int warmUpSeconds, int seconds) {}

    /**
     * The times of all calls of some members.
     *
     * @param first of the first seconds
     */
    record Times(Histogram first, Histogram times) {

        static Times none() {
            return new Times(new Histogram(3), new Histogram(3));
        }

        void add(Times others) {
            first.add(others.first);
            times.add(others.times);
        }
    }

    static String name(int index) {
        return NAME + index;
    }

    /** Starts a member and waits until it has joined. */
    static Children.Child start(
            Children children, int index, String partners, String waiting, int sizeBytes, Phases phases)
            throws IOException {
        return children.start(
                ROLE,
                children.directory().resolve("home"),
                name(index),
                partners,
                waiting,
                sizeBytes,
                phases.firstSeconds(),
                phases.warmUpSeconds(),
                phases.seconds());
    }

    /** Has members call, and waits until they have. */
    static Times run(List<Children.Child> members) throws IOException {
        for (Children.Child member : members) {
            member.process().getOutputStream().write('\n');
            member.process().getOutputStream().flush();
        }
        Times all = Times.none();
        for (Children.Child member : members) {
            Figures figures = member.figures();
            all.add(new Times(decode(figures.text("first")), decode(figures.text("times"))));
        }
        return all;
    }

    /** Arguments: home, name, partners with commas between, waiting, size, and the seconds of the phases. */
    static void call(String[] arguments) throws Exception {
        Host host = Host.real();
        HandlerRegistry handlers = EchoServer.registry(host);
        EchoServer.handle(handlers);
        Home home = Home.open(Path.of(arguments[0]), host);
        try (Worker worker = EchoServer.join(home, arguments[1], EchoServer.settings(arguments[3]), handlers)) {
            worker.ready(Map.of());
            BenchProcess.ready();
            if (!arguments[2].equals(NO_PEER)) {
                Request[] requests = Arrays.stream(arguments[2].split(","))
                        .map(partner -> request(partner, Integer.parseInt(arguments[4])))
                        .toArray(Request[]::new);
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))
                        .readLine(); // all are there
                Histogram first = callFor(arguments[5], worker, requests);
                callFor(arguments[6], worker, requests);
                Histogram times = callFor(arguments[7], worker, requests);
                BenchProcess.report(new Figures().put("first", encode(first)).put("times", encode(times)));
            }
            BenchProcess.awaitEnd(); // partners may still call
        }
    }

    private static Request request(String partner, int sizeBytes) {
        return Request.raw(partner, MessageType.userRequest(0x42), ByteBuffer.allocate(sizeBytes), List.of());
    }

    private static Histogram callFor(String seconds, Worker worker, Request[] requests) {
        long ns = TimeUnit.SECONDS.toNanos(Integer.parseInt(seconds));
        Histogram times = new Histogram(3);
        long startNs = System.nanoTime();
        int next = 0;
        for (long atNs = startNs; atNs - startNs < ns; ) {
            worker.call(requests[next]).close();
            next = next + 1 == requests.length ? 0 : next + 1;
            long nowNs = System.nanoTime();
            times.recordValue(nowNs - atNs);
            atNs = nowNs;
        }
        return times;
    }

    private static String encode(Histogram times) {
        ByteBuffer bytes = ByteBuffer.allocate(times.getNeededByteBufferCapacity());
        int length = times.encodeIntoCompressedByteBuffer(bytes);
        return Base64.getEncoder().withoutPadding().encodeToString(Arrays.copyOf(bytes.array(), length));
    }

    private static Histogram decode(String text) throws IOException {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(text)), 0);
        } catch (DataFormatException e) {
            throw new IOException("the process " + ROLE + " told no times", e);
        }
    }
}
