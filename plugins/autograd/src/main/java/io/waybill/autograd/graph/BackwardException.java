package io.waybill.autograd.graph;

/**
 * Signals that a backward pass can't be computed: an operator or a hook failed, or the graph can't be differentiated
 * here.
 */
public class BackwardException extends RuntimeException {

    private static final long serialVersionUID = 1;

    BackwardException(String message) {
        super(message);
    }

    BackwardException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Returns the exception for a node that threw. */
    static BackwardException of(String node, Throwable failure) {
        String text = text(failure);
        boolean isHookInJava = text.startsWith("Cannot call pure virtual function");
        return new BackwardException(
                isHookInJava
                        ? node
                                + " has a hook that only libtorch's own engine can call: register it on the tensor instead"
                        : node + " failed: " + text,
                failure);
    }

    /** Returns the part of libtorch's text that is about the computation, without the C++ stack below it. */
    static String text(Throwable failure) {
        String text = failure.getMessage() == null ? failure.toString() : failure.getMessage();
        int end = text.indexOf("\nException raised from ");
        String first = end < 0 ? text.lines().findFirst().orElse(text) : text.substring(0, end);
        return first.strip();
    }
}
