package io.waybill.cli.replay;

import io.waybill.replay.compare.Verdict;
import java.util.List;

/**
 * A call in the report whose response was not the recorded one. Immutable.
 *
 * @param from name of the caller
 * @param to name of the worker that responded, and whose handlers ran it again
 * @param operation operation of a call by name; otherwise the type's name
 * @param request the request, with its arguments
 * @param recorded the recorded response
 * @param results one for each candidate
 * @param again command that replays this one call
 */
record ShownCall(
        String id,
        String from,
        String to,
        String operation,
        String request,
        String recorded,
        List<ShownResult> results,
        String again) {

    /**
     * Result of one candidate.
     *
     * @param replayed its response
     * @param reason difference from the recorded response, or reason for a missing one; empty if it is the same
     */
    record ShownResult(String candidate, Verdict verdict, String replayed, String reason) {}

    ShownCall {
        results = List.copyOf(results);
    }
}
