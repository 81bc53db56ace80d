package io.waybill.conformance.cases;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Kind of a step. */
public enum Verb {
    /** Calls, and waits for the response. */
    CALL("to! op! args kwargs timeout mode as times"),
    /** Calls, and continues. */
    SEND("to! op! args kwargs timeout mode as! times"),
    /** Waits for the responses of calls that were sent. */
    WAIT("for! together as"),
    /** Makes further calls after the response of a sent call: each gets the previous response as its first argument. */
    THEN("for! failed calls! as!"),
    /** Calls, and leaves the result with the callee: the result is a reference. */
    REMOTE("to! op! args kwargs timeout mode as times"),
    /** Makes a reference to a value of the worker's own. */
    OWN("value! as"),
    /** Fetches the value of a reference, or of each of several. */
    FETCH("ref! timeout as"),
    /** Takes the value of a reference, on its owner. */
    LOCAL_VALUE("ref! as"),
    /** Reads the owner of a reference, and whether the owner confirmed it. */
    DESCRIBE("ref!"),
    /** Closes the worker's handle of a reference, or of each of several. */
    RELEASE("ref!"),
    /** Releases all references, and waits until no peer has one to a value of the worker. */
    SETTLE(""),
    /** Lists live workers of the home: ids by name. */
    MEMBERS(""),
    /** Checks a value. */
    CHECK("value! as"),
    /** Reads the worker's counters. */
    COUNTERS(""),
    /** Opens a gate of the worker. */
    OPEN("gate!"),
    /** Waits until a number of calls reached a gate of the worker. */
    REACHED("gate! count"),
    /** Joins the home again, under another name, and leaves. */
    JOIN("name! id"),
    /** Opens an autograd context, which the worker's next calls are in. */
    CONTEXT("as!"),
    /** Releases an autograd context. */
    LEAVE("context!"),
    /** Runs an operator in the worker itself, on live tensors. */
    LOCAL("op! args kwargs as"),
    /** Registers a hook that multiplies the gradient of a leaf. */
    HOOK("value! factor!"),
    /** Runs a backward pass, from roots or the value of a reference. */
    BACKWARD("context roots ref retain fast times"),
    /** Reads the gradients of leaves, or all that a context has. */
    GRADIENTS("context driver roots as"),
    /** Reads what a context has recorded. */
    RECORDED("context driver"),
    /** Leaves the home. */
    SHUTDOWN(""),
    /** Kills the worker's process. Done by the harness. */
    KILL(""),
    /** Restarts the worker's process under its name. Done by the harness. */
    RESTART("");

    private static final String COMMON = "on do expect within note ";

    private final Set<String> known;
    private final List<String> required;

    /** @param fields of such a step; those with an exclamation mark are required */
    Verb(String fields) {
        known = new TreeSet<>(List.of((COMMON + fields).replace("!", "").split(" ")));
        required = Stream.of(fields.split(" "))
                .filter(field -> field.endsWith("!"))
                .map(field -> field.replace("!", ""))
                .toList();
    }

    /** Fails on fields that steps of this kind don't have, and without those that they need. */
    void check(JsonNode step) {
        step.fieldNames()
                .forEachRemaining(name -> CaseFile.require(
                        known.contains(name),
                        "unknown field '" + name + "' of " + this + ", expected one of " + known));
        for (String name : required) {
            CaseFile.require(step.has(name), this + " needs a field '" + name + "'");
        }
    }

    /** Returns the name in a file. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
