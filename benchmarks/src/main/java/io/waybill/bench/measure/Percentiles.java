package io.waybill.bench.measure;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/** The mean and the percentiles that are reported of times, and times as a text that one process reports to another. */
public final class Percentiles {

    private Percentiles() {}

    public static Figures of(Histogram ns) {
        return new Figures()
                .put("mean_ns", Math.round(ns.getMean()))
                .put("p50_ns", ns.getValueAtPercentile(50))
                .put("p99_ns", ns.getValueAtPercentile(99))
                .put("p999_ns", ns.getValueAtPercentile(99.9))
                .put("max_ns", ns.getMaxValue());
    }

    /** Returns times as a text without blanks, for {@link #decode}. */
    public static String encode(Histogram times) {
        ByteBuffer bytes = ByteBuffer.allocate(times.getNeededByteBufferCapacity());
        int length = times.encodeIntoCompressedByteBuffer(bytes);
        return Base64.getEncoder().withoutPadding().encodeToString(Arrays.copyOf(bytes.array(), length));
    }

    /** @throws IOException when the text is none of {@link #encode} */
    public static Histogram decode(String text) throws IOException {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(text)), 0);
        } catch (DataFormatException e) {
            throw new IOException("times can't be read: expected a compressed histogram, found other bytes", e);
        }
    }
}
