package io.waybill.replay;

import java.util.Optional;

/** Compares an answer on record with that of a replay. Thread-safe. */
@FunctionalInterface
public interface Comparison {

    /** Where the two part first, in words that need no other context; empty when they are the same. */
    Optional<String> firstDifference(Answer recorded, Answer replayed);
}
