package io.waybill.replay.compare;

import java.util.Optional;

/** Compares a response on record with that of a replay. Thread-safe. */
@FunctionalInterface
public interface ResponseComparison {

    /** Where the two part first, in words that need no other context; empty when they are the same. */
    Optional<String> firstDifference(ComparedResponse recorded, ComparedResponse replayed);
}
