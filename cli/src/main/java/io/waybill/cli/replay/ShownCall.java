package io.waybill.cli.replay;

import io.waybill.replay.compare.Verdict;
import java.util.List;

/**
 * What the report says of one call that did not give the response on record. Immutable.
 *
 * @param from the name of who called
 * @param to the name of the worker that responded, and whose handlers ran it again
 * @param operation of a call by name; the type's name otherwise
 * @param request what was asked, with its arguments
 * @param recorded the response on record
 * @param results one for each candidate that did not give it, and for each that did
 * @param again the command that replays this one call
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
     * What one candidate made of it.
     *
     * @param replayed its response
     * @param reason where it parts from the one on record, or why there is none; empty when it is the same
     */
    record ShownResult(String candidate, Verdict verdict, String replayed, String reason) {}

    ShownCall {
        results = List.copyOf(results);
    }
}
