package io.waybill.rref;

/** Which values of its own a worker keeps on the disk, so that they outlive its process. */
public enum Keeping {
    /** Only values that the program selects, one by one. */
    ON_REQUEST,
    /** Every value without references: those end with the process. */
    ALL
}
