package io.waybill.api;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Collects the responses of several calls in one list.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> Owns the responses that arrived until the list is complete; closes those
 * that arrive after it failed or was cancelled.
 */
final class GatheredResponses {

    private final CompletableFuture<List<Response>> all = new CompletableFuture<>();
    private final Response[] arrived; // guarded by this, like the next two fields
    private int missing;
    private boolean unwanted;

    private GatheredResponses(int count) {
        arrived = new Response[count];
        missing = count;
    }

    static CompletableFuture<List<Response>> of(List<CompletableFuture<Response>> responses) {
        GatheredResponses gathered = new GatheredResponses(responses.size());
        if (responses.isEmpty()) {
            return CompletableFuture.completedFuture(List.of());
        }
        gathered.all.whenComplete((all, failure) -> {
            if (failure != null) {
                gathered.abandon();
            }
        });
        for (int i = 0; i < responses.size(); i++) {
            int at = i;
            responses.get(i).whenComplete((response, failure) -> gathered.complete(at, response, failure));
        }
        return gathered.all;
    }

    private void complete(int at, Response response, Throwable failure) {
        if (failure != null) {
            all.completeExceptionally(
                    failure instanceof CompletionException && failure.getCause() != null
                            ? failure.getCause()
                            : failure);
        } else if (!take(at, response)) {
            response.close();
        } else {
            complete().ifPresent(all::complete);
        }
    }

    private synchronized boolean take(int at, Response response) {
        if (unwanted) {
            return false;
        }
        arrived[at] = response;
        missing--;
        return true;
    }

    /** Returns the complete list; empty while a response is missing. */
    private synchronized Optional<List<Response>> complete() {
        return missing == 0 && !unwanted ? Optional.of(List.of(arrived)) : Optional.empty();
    }

    /** Closes all responses after a failure or a cancellation. */
    private void abandon() {
        List<Response> there = new ArrayList<>();
        synchronized (this) {
            unwanted = true;
            for (int i = 0; i < arrived.length; i++) {
                if (arrived[i] != null) {
                    there.add(arrived[i]);
                    arrived[i] = null;
                }
            }
        }
        there.forEach(Response::close);
    }
}
