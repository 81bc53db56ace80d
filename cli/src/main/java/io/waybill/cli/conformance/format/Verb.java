package io.waybill.cli.conformance.format;

import java.util.HashSet;
import java.util.Set;

/** What a step does. */
public enum Verb {
    /** Calls, and waits for the response. */
    CALL("call", Place.WORKER, "to", "op", "args", "kwargs", "timeout", "mode", "as", "times"),
    /** Calls, and goes on. */
    SEND("send", Place.WORKER, "to", "op", "args", "kwargs", "timeout", "mode", "as", "times"),
    /** Waits for the response of what was sent. */
    WAIT("wait", Place.WORKER, "for", "together", "as"),
    /** Goes on with what was sent, once its response is there: each call gets the response of the one before as its first argument. */
    THEN("then", Place.WORKER, "for", "failed", "calls", "as"),
    /** Calls, and leaves the result with the callee: the result is a reference. */
    REMOTE("remote", Place.WORKER, "to", "op", "args", "kwargs", "timeout", "mode", "as", "times"),
    /** Makes a reference to a value of the worker's own. */
    OWN("own", Place.WORKER, "value", "as"),
    /** Fetches what a reference, or each of several, stands for. */
    FETCH("fetch", Place.WORKER, "ref", "timeout", "as"),
    /** Takes what a reference stands for, on its owner. */
    LOCAL_VALUE("local_value", Place.WORKER, "ref", "as"),
    /** Says who owns a reference, and whether the owner knows of it. */
    DESCRIBE("describe", Place.WORKER, "ref"),
    /** Ends the worker's handle of a reference, or of each of several. */
    RELEASE("release", Place.WORKER, "ref"),
    /** Gives back all references, and waits until nobody has one to a value of the worker's. */
    SETTLE("settle", Place.WORKER),
    /** Lists who is alive in the home: ids by name. */
    MEMBERS("members", Place.WORKER),
    /** Looks at a value. */
    CHECK("check", Place.WORKER, "value", "as"),
    /** Looks at the worker's counters. */
    COUNTERS("counters", Place.WORKER),
    /** Lets those go on that wait at a gate of the worker's. */
    OPEN("open", Place.WORKER, "gate"),
    /** Waits until so many wait at a gate of the worker's. */
    REACHED("reached", Place.WORKER, "gate", "count"),
    /** Joins the home once more, under another name, and leaves. */
    JOIN("join", Place.WORKER, "name", "id"),
    /** Leaves the home. */
    SHUTDOWN("shutdown", Place.WORKER),
    /** Ends the worker's process without a word. */
    KILL("kill", Place.RUNNER),
    /** Starts a worker's process again under its name. */
    RESTART("restart", Place.RUNNER);

    /** Who does it. */
    public enum Place {
        /** The worker that the step names. */
        WORKER,
        /** Who runs the cases. */
        RUNNER
    }

    private static final Set<String> COMMON = Set.of("on", "do", "expect", "within", "note");

    private final String text;
    private final Place place;
    private final Set<String> fields;

    Verb(String text, Place place, String... fields) {
        this.text = text;
        this.place = place;
        this.fields = Set.of(fields);
    }

    static Verb of(String text) throws FormatException {
        for (Verb verb : values()) {
            if (verb.text.equals(text)) {
                return verb;
            }
        }
        StringBuilder known = new StringBuilder();
        for (Verb verb : values()) {
            known.append(known.length() == 0 ? "" : ", ").append(verb.text);
        }
        throw new FormatException("nothing is called '" + text + "'; a step does one of " + known);
    }

    public Place place() {
        return place;
    }

    /** The names of the fields that a step may have. */
    Set<String> fields() {
        Set<String> all = new HashSet<>(COMMON);
        all.addAll(fields);
        return all;
    }

    /** As in a file. */
    @Override
    public String toString() {
        return text;
    }
}
