package io.waybill.cli.doctor;

import java.util.Objects;

/**
 * What was found about one thing.
 *
 * @param check name of the thing
 * @param verdict about it
 * @param found what is there
 * @param advice how to get what is not; empty when nothing needs to be done
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
