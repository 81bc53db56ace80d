package io.waybill.replay.compare;

/** Decides whether numbers with different bits count as equal. Immutable. */
@FunctionalInterface
interface Closeness {

    /** Accepts equal bits only. */
    Closeness NONE = (recordedReal, recordedImaginary, real, imaginary) -> false;

    boolean isClose(double recordedReal, double recordedImaginary, double real, double imaginary);

    /** Compares real numbers. */
    default boolean isClose(double recorded, double replayed) {
        return isClose(recorded, 0, replayed, 0);
    }
}
