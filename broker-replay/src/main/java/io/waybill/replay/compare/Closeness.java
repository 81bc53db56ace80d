package io.waybill.replay.compare;

/** Says of numbers whose bits are not the same whether they count as the same. Immutable. */
interface Closeness {

    /** None do. */
    Closeness NONE = new Closeness() {
        @Override
        public boolean isClose(double recorded, double replayed) {
            return false;
        }

        @Override
        public boolean isClose(double recordedReal, double recordedImaginary, double real, double imaginary) {
            return false;
        }
    };

    boolean isClose(double recorded, double replayed);

    /** The same for complex numbers. */
    boolean isClose(double recordedReal, double recordedImaginary, double real, double imaginary);
}
