package io.waybill.cli.doctor;

import java.util.Locale;

/** Formats numbers of bytes for people. Stateless. */
final class Sizes {

    private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB"};
    private static final double STEP = 1024;
    private static final double SHORT = 10; // smaller numbers have a digit after the point

    private Sizes() {}

    static String text(long bytes) {
        double value = bytes;
        int unit = 0;
        while (value >= STEP && unit < UNITS.length - 1) {
            value /= STEP;
            unit++;
        }
        return String.format(Locale.ROOT, unit > 0 && value < SHORT ? "%.1f %s" : "%.0f %s", value, UNITS[unit]);
    }
}
