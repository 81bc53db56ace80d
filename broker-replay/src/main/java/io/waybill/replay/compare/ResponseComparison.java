package io.waybill.replay.compare;

import java.util.Optional;

/** Comparison of a recorded response with that of a replay. Thread-safe. */
@FunctionalInterface
public interface ResponseComparison {

    /** Describes the first difference, without context; empty if the responses are equal. */
    Optional<String> firstDifference(ComparedResponse recorded, ComparedResponse replayed);
}
