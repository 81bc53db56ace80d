package io.waybill.replay.compare;

/**
 * Max distance of a number from the recorded one: {@code absolute + relative * |recorded|}, as in
 * {@code torch.allclose}. NaN is close to NaN, an infinity only to itself. Immutable.
 *
 * @param relative 0 or more
 * @param absolute 0 or more
 */
public record FloatTolerance(double relative, double absolute) implements Closeness {

    /** Defaults of {@code torch.allclose}. */
    public static final FloatTolerance DEFAULT = new FloatTolerance(1e-5, 1e-8);

    public FloatTolerance {
        requireNotNegative("rtol", relative);
        requireNotNegative("atol", absolute);
    }

    private static void requireNotNegative(String name, double value) {
        if (!(value >= 0) || Double.isInfinite(value)) {
            throw new IllegalArgumentException(name + " must be a finite number from 0 on: " + value);
        }
    }

    @Override
    public boolean isClose(double recordedReal, double recordedImaginary, double real, double imaginary) {
        boolean recordedNaN = Double.isNaN(recordedReal) || Double.isNaN(recordedImaginary);
        boolean replayedNaN = Double.isNaN(real) || Double.isNaN(imaginary);
        return recordedReal == real && recordedImaginary == imaginary
                || recordedNaN && replayedNaN
                || allows(
                        Math.hypot(recordedReal - real, recordedImaginary - imaginary),
                        Math.hypot(recordedReal, recordedImaginary));
    }

    /** Returns whether a distance is allowed. Infinite distances and magnitudes are not. */
    private boolean allows(double distance, double magnitude) {
        return Double.isFinite(distance) && distance <= absolute + relative * magnitude;
    }
}
