package io.waybill.crash.history;

import java.util.ArrayList;
import java.util.List;

/** All that is known of one message id, from every source. Filled by {@link History}. */
final class Call {

    /** An event with the incarnation that logged it. */
    record Seen(Incarnation incarnation, Event event) {}

    final long id;
    /** null when the caller's journal does not have it. */
    StoredMessage request;

    final List<Seen> sent = new ArrayList<>(1);
    final List<Seen> outcomes = new ArrayList<>(1);
    final List<Seen> claims = new ArrayList<>(0);
    final List<Seen> runs = new ArrayList<>(1);
    final List<Seen> handlerResponses = new ArrayList<>(1);
    final List<StoredMessage> responses = new ArrayList<>(1);

    Call(long id) {
        this.id = id;
    }

    int caller() {
        return (int) (id >>> 48);
    }

    /** Whether it failed for its caller before or without a response. */
    boolean failed() {
        return outcomes.stream().anyMatch(seen -> seen.event().kind() == Event.Kind.FAILED);
    }

    boolean wasRespondedWith(int digest) {
        return handlerResponses.stream().anyMatch(seen -> seen.event().digest() == digest);
    }

    @Override
    public String toString() {
        return String.format("%x", id);
    }
}
