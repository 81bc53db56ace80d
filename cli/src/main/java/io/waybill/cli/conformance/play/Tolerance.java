package io.waybill.cli.conformance.play;

import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;

/**
 * How far numbers may lie from what is expected: {@code absolute + relative * |expected|}.
 *
 * @param absolute 0 or more
 * @param relative 0 or more
 */
record Tolerance(double absolute, double relative) {

    /** Bit by bit, but for the sign of zero; NaN equals NaN. */
    static final Tolerance EXACT = new Tolerance(0, 0);

    static Tolerance of(Fields fields) throws FormatException {
        return new Tolerance(fields.real("absolute", 0), fields.real("relative", 0));
    }

    boolean allows(double expected, double found) {
        return expected == found
                || Double.isNaN(expected) && Double.isNaN(found)
                || Math.abs(expected - found) <= absolute + relative * Math.abs(expected);
    }
}
