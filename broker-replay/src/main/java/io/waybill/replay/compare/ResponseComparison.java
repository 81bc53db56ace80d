package io.waybill.replay.compare;

import java.util.Optional;

/** Compares a response on record with that of a replay. Thread-safe. */
@FunctionalInterface
public interface ResponseComparison {

    /** Describes the first difference, without other context; empty when they are equal. */
    Optional<String> firstDifference(ComparedResponse recorded, ComparedResponse replayed);
}
