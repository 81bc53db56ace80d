package io.waybill.rref;

/** Which values of its own a worker keeps on the disk, so that they outlive its process. */
public enum Keeping {
    /** Those that its program asks for, one by one. */
    ON_REQUEST,
    /** Every one that holds no references: those end with the process. */
    ALL
}
