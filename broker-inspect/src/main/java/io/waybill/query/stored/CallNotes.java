package io.waybill.query.stored;

import io.waybill.home.note.NotedOutcomes.Noted;
import io.waybill.home.note.Responders.Responder;
import java.util.Optional;

/**
 * What the workers of a call have noted beside its records. Immutable.
 *
 * @param outcome that the caller's worker gave the call by itself, whatever its response was
 * @param isComplete whether an outcome that was noted is here; otherwise the deadline decides whether a response came too late
 * @param responder the bundle that gave the response
 */
public record CallNotes(Optional<Noted> outcome, boolean isComplete, Optional<Responder> responder) {

    /** Nothing is known but the records. */
    public static final CallNotes NONE = new CallNotes(Optional.empty(), false, Optional.empty());
}
