package io.waybill.cli.doctor;

import java.util.Objects;

/**
 * Result of one check.
 *
 * @param check name of the check
 * @param verdict of the check
 * @param found description of the present state
 * @param advice instructions; empty if no action is needed
 */
record Diagnosis(String check, Health verdict, String found, String advice) {

    Diagnosis {
        Objects.requireNonNull(check);
        Objects.requireNonNull(verdict);
        Objects.requireNonNull(found);
        Objects.requireNonNull(advice);
        if (verdict != Health.OK && advice.isEmpty()) {
            throw new IllegalArgumentException("expected advice about " + check + ", found none");
        }
    }
}
