package io.waybill.cli.doctor;

import java.util.ArrayList;
import java.util.List;

/** Diagnoses in the order of the checks. For one thread. */
final class Diagnoses {

    private final List<Diagnosis> all = new ArrayList<>();

    /** Adds a check that passed. */
    void ok(String check, String found) {
        all.add(new Diagnosis(check, Health.OK, found, ""));
    }

    /** Adds a check that did not pass. */
    void add(Health verdict, String check, String found, String advice) {
        all.add(new Diagnosis(check, verdict, found, advice));
    }

    List<Diagnosis> all() {
        return List.copyOf(all);
    }

    int count(Health verdict) {
        return (int) all.stream().filter(each -> each.verdict() == verdict).count();
    }
}
