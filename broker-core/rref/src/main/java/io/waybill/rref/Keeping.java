package io.waybill.rref;

/** Policy for the values of its own that a worker keeps on the disk, so that they outlive its process. */
public enum Keeping {
    /** Only values that the program selects, one by one. */
    ON_REQUEST,
    /** Every value without references: values with references end with the process. */
    ALL
}
