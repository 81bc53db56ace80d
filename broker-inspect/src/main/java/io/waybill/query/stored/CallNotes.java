package io.waybill.query.stored;

import io.waybill.home.note.NotedOutcomes.Noted;
import io.waybill.home.note.Responders.Responder;
import java.util.Optional;

/**
 * Notes of the workers of a call in addition to its records. Immutable.
 *
 * @param outcome that the caller's worker gave the call by itself, whatever its response was
 * @param isComplete whether all noted outcomes are available; otherwise the deadline decides whether a response was
 *     late
 * @param responder bundle that responded
 */
public record CallNotes(Optional<Noted> outcome, boolean isComplete, Optional<Responder> responder) {

    /** Notes of a call without any. */
    public static final CallNotes NONE = new CallNotes(Optional.empty(), false, Optional.empty());
}
