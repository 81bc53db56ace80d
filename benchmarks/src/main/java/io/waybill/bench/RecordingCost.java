package io.waybill.bench;

import io.waybill.bench.call.CallLoad;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.call.RoundTrip;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * {@code bench recording}: what archiving tensors costs the calls. Workers without an archive and workers that archive
 * all tensors take turns, each time with fresh processes; each figure is the median over the rounds, each ratio that
 * with an archive to that without. A stream of tensors there and back is measured with the default archive.
 *
 * @param sizesBytes of the tensors
 * @param warmUpSeconds of round trips, and of calls in flight
 * @param seconds of round trips, of calls in flight, and of each stream
 * @param rounds odd
 * @param waiting how the workers wait
 */
public record RecordingCost(List<Long> sizesBytes, int warmUpSeconds, int seconds, int rounds, String waiting) {

    private static final int PAYLOAD_BYTES = 64;
    private static final int IN_FLIGHT = 256;

    public Figures run(Consumer<String> progress) throws IOException {
        Samples without = new Samples();
        Samples with = new Samples();
        for (int round = 0; round < rounds; round++) {
            boolean isOdd = round % 2 == 1;
            for (boolean records : new boolean[] {isOdd, !isOdd}) { // the order alternates
                progress.accept("round " + (round + 1) + " of " + rounds + (records ? ": archive" : ": no archive"));
                measure(records ? with : without, waiting + (records ? EchoServer.RECORDING : ""));
                measureStream(records ? with : without, waiting + (records ? EchoServer.BY_DEFAULT : ""));
            }
        }
        return figures(without, with);
    }

    private void measure(Samples samples, String how) throws IOException {
        samples.add("rtt_p50_ns", RoundTrip.round(load(1), how).integer("p50_ns"));
        samples.add("calls_per_s", RoundTrip.round(load(IN_FLIGHT), how).integer("calls_per_s"));
        for (long size : sizesBytes) {
            Figures figures = new TensorTransfer(List.of(size), how).round(size);
            samples.add("one_way_ns " + size, figures.integer("one_way_ns"));
            samples.add("loaned_ns " + size, figures.integer("loaned_ns"));
            samples.add("archived " + size, figures.integer("archived"));
            samples.add("not_archived " + size, figures.integer("not_archived"));
        }
    }

    /** A stream of tensors with the default archive, and without one. */
    private void measureStream(Samples samples, String how) throws IOException {
        for (long size : sizesBytes) {
            Figures figures = TensorTransfer.Stream.round(size, seconds, how);
            for (String name : List.of("stream_per_s", "stream_archived", "stream_not_archived")) {
                samples.add(name + " " + size, figures.integer(name));
            }
        }
    }

    private CallLoad load(int inFlight) {
        return new CallLoad(
                CallLoad.Form.RAW,
                PAYLOAD_BYTES,
                EchoHandler.EMPTY,
                inFlight,
                new CallLoad.Timing(warmUpSeconds, seconds));
    }

    private Figures figures(Samples without, Samples with) {
        List<Figures> rows = new ArrayList<>();
        for (long size : sizesBytes) {
            Figures row = new Figures().put("size_bytes", size);
            compare("one_way_ns", " " + size, without, with, row);
            compare("loaned_ns", " " + size, without, with, row);
            rows.add(row.put("archived", with.median("archived " + size))
                    .put("not_archived", with.median("not_archived " + size)));
            compare("stream_per_s", " " + size, without, with, row);
            row.put("stream_archived", with.median("stream_archived " + size))
                    .put("stream_not_archived", with.median("stream_not_archived " + size));
        }
        Figures figures = new Figures().put("waiting", waiting).put("rounds", rounds);
        compare("rtt_p50_ns", "", without, with, figures);
        compare("calls_per_s", "", without, with, figures);
        return figures.put("tensors", rows);
    }

    private static void compare(String name, String suffix, Samples without, Samples with, Figures to) {
        long off = without.median(name + suffix);
        long on = with.median(name + suffix);
        to.put(name, off).put("archived_" + name, on).put("ratio_" + name, (double) on / off);
    }

    /** Figures by name, one for each round. */
    private static final class Samples {
        private final Map<String, List<Long>> byName = new LinkedHashMap<>();

        void add(String name, long value) {
            byName.computeIfAbsent(name, any -> new ArrayList<>()).add(value);
        }

        long median(String name) {
            return Figures.median(
                    byName.get(name).stream().mapToLong(Long::longValue).toArray());
        }
    }
}
