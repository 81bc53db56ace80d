package io.waybill.replay.compare;

/** Says of numbers whose bits are not the same whether they count as the same. Immutable. */
@FunctionalInterface
interface Closeness {

    /** None do. */
    Closeness NONE = (recordedReal, recordedImaginary, real, imaginary) -> false;

    boolean isClose(double recordedReal, double recordedImaginary, double real, double imaginary);

    /** The same for real numbers. */
    default boolean isClose(double recorded, double replayed) {
        return isClose(recorded, 0, replayed, 0);
    }
}
