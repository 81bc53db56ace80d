package io.waybill.api.context;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Small named values and a trace that accompany a call: from the program through handlers into nested calls. They are
 * recorded with each request and restored in a replay.
 *
 * <p>Each thread has a current context, which is empty by default. A call carries the current context of the thread
 * that begins it. That context is current while its handler, a listener or a stage of its future runs. Responses carry
 * no context.
 *
 * <p><b>Threads.</b> Immutable. <b>Limits.</b> {@value #MAX_ENTRIES} values; names of {@value #MAX_NAME_LENGTH}
 * characters; names and values of {@value #MAX_BYTES} bytes in all. <b>Security.</b> Every worker that a call reaches
 * can read the values and keeps them in its journals; never use them for secrets.
 */
public final class CallContext {

    /** Max number of named values. */
    public static final int MAX_ENTRIES = 64;

    /** Max size of all names and values together, in bytes. */
    public static final int MAX_BYTES = 8192;

    /** Max length of a name, in characters. */
    public static final int MAX_NAME_LENGTH = 128;

    /** The context without values and trace. */
    public static final CallContext EMPTY = new CallContext(new TreeMap<>(), null);

    private static final String NAME_SYMBOLS = "!#$%&'*+-.^_`|~";

    private final SortedMap<String, byte[]> values;
    private final TraceContext trace; // null for none
    private final int bytes; // size of names and values

    private CallContext(SortedMap<String, byte[]> values, TraceContext trace) {
        this.values = values;
        this.trace = trace;
        int sum = 0;
        for (Map.Entry<String, byte[]> each : values.entrySet()) {
            sum += each.getKey().length() + each.getValue().length;
        }
        this.bytes = sum;
    }

    /** Returns the current context of the calling thread; {@link #EMPTY} if no code made one current. */
    public static CallContext current() {
        return ThreadContext.own().current();
    }

    /** Returns whether the context has neither values nor a trace. */
    public boolean isEmpty() {
        return values.isEmpty() && trace == null;
    }

    /** Returns the names of all values, in ascending order. */
    public List<String> names() {
        return List.copyOf(values.keySet());
    }

    /** Returns the number of bytes of all names and values together. */
    public int sizeInBytes() {
        return bytes;
    }

    /** Returns a value as text, decoded from UTF-8; empty when there is none of this name. */
    public Optional<String> text(String name) {
        byte[] value = values.get(name);
        return value == null ? Optional.empty() : Optional.of(new String(value, StandardCharsets.UTF_8));
    }

    /** Returns a read-only view of a value; empty when there is none of this name. */
    public Optional<ByteBuffer> bytes(String name) {
        byte[] value = values.get(name);
        return value == null
                ? Optional.empty()
                : Optional.of(ByteBuffer.wrap(value).asReadOnlyBuffer());
    }

    /**
     * Returns a copy of this context with the value added or replaced.
     *
     * @param name a token as in a W3C baggage key: letters and digits of ASCII, and <code>!#$%&amp;'*+-.^_`|~</code>
     * @param value text, kept in UTF-8
     * @throws ContextLimitException if the copy would have too many values or bytes
     * @throws IllegalArgumentException if the name is not a token
     */
    public CallContext with(String name, String value) {
        return withOwned(name, value.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Returns a copy of this context with the value added or replaced.
     *
     * @param name a token, as in {@link #with(String, String)}
     * @param value copied
     * @throws ContextLimitException if the copy would have too many values or bytes
     * @throws IllegalArgumentException if the name is not a token
     */
    public CallContext with(String name, byte[] value) {
        return withOwned(name, value.clone());
    }

    /**
     * Creates a context without a trace.
     *
     * @param values by name; copied
     * @throws ContextLimitException if there are too many values or bytes
     * @throws IllegalArgumentException if a name is not a token
     */
    public static CallContext of(Map<String, byte[]> values) {
        requireAtMost("entries", MAX_ENTRIES, values.size());
        SortedMap<String, byte[]> copies = new TreeMap<>();
        values.forEach((name, value) -> {
            requireName(name);
            requireAtMost("bytes in a value", MAX_BYTES, value.length);
            copies.put(name, value.clone());
        });
        CallContext created = new CallContext(copies, null);
        requireAtMost("bytes of names and values", MAX_BYTES, created.bytes);
        return copies.isEmpty() ? EMPTY : created;
    }

    private CallContext withOwned(String name, byte[] value) {
        requireName(name);
        requireAtMost("bytes in a value", MAX_BYTES, value.length);
        SortedMap<String, byte[]> more = new TreeMap<>(values);
        more.put(name, value);
        requireAtMost("entries", MAX_ENTRIES, more.size());
        CallContext wider = new CallContext(more, trace);
        requireAtMost("bytes of names and values", MAX_BYTES, wider.bytes);
        return wider;
    }

    private static void requireName(String name) {
        requireAtMost("characters in a name", MAX_NAME_LENGTH, name.length());
        if (name.isEmpty() || !hasNameCharacters(name)) {
            throw new IllegalArgumentException("the name of a value in a context has at least one character, which are"
                    + " letters and digits of ASCII and " + NAME_SYMBOLS + ": \"" + name + "\"");
        }
        if (isOfTrace(name)) {
            throw new IllegalArgumentException(
                    name + " is part of the trace of a context: pass a TraceContext instead of a value");
        }
    }

    private static boolean isOfTrace(String name) {
        return name.equals(TraceContext.PARENT_NAME) || name.equals(TraceContext.STATE_NAME);
    }

    private static void requireAtMost(String limit, int max, int found) {
        if (found > max) {
            throw new ContextLimitException(limit, max, found);
        }
    }

    private static boolean hasNameCharacters(String name) {
        for (int i = 0; i < name.length(); i++) { // runs for each received context, so no stream
            if (!isNameCharacter(name.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isNameCharacter(char character) {
        return character >= 'a' && character <= 'z'
                || character >= 'A' && character <= 'Z'
                || character >= '0' && character <= '9'
                || NAME_SYMBOLS.indexOf(character) >= 0;
    }

    /** Returns whether the name is valid for a value. */
    public static boolean isName(String name) {
        return !name.isEmpty() && name.length() <= MAX_NAME_LENGTH && hasNameCharacters(name) && !isOfTrace(name);
    }

    /** Returns a copy of this context without the value of this name. */
    public CallContext without(String name) {
        if (!values.containsKey(name)) {
            return this;
        }
        SortedMap<String, byte[]> fewer = new TreeMap<>(values);
        fewer.remove(name);
        return fewer.isEmpty() && trace == null ? EMPTY : new CallContext(fewer, trace);
    }

    /** Returns the trace that the call is part of; empty for none. */
    public Optional<TraceContext> trace() {
        return Optional.ofNullable(trace);
    }

    /** Returns a copy of this context whose calls are part of the trace. */
    public CallContext with(TraceContext newTrace) {
        return new CallContext(values, Objects.requireNonNull(newTrace));
    }

    /** Returns a copy of this context whose calls are part of no trace. */
    public CallContext withoutTrace() {
        return trace == null ? this : values.isEmpty() ? EMPTY : new CallContext(values, null);
    }

    /**
     * Makes this context the current one of the calling thread, until the scope is closed.
     *
     * @return a scope, which the same thread closes; in a handler, before the handler returns
     */
    public ContextScope makeCurrent() {
        return ThreadContext.own().open(this);
    }

    /** Runs a task on the calling thread, with this context as the current one. */
    public void run(Runnable task) {
        ContextScope scope = makeCurrent();
        try {
            task.run();
        } finally {
            scope.close();
        }
    }

    /** Runs a task on the calling thread, with this context as the current one, and returns its result. */
    public <T> T supply(Supplier<T> task) {
        ContextScope scope = makeCurrent();
        try {
            return task.get();
        } finally {
            scope.close();
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof CallContext that && Objects.equals(trace, that.trace) && hasValuesOf(that);
    }

    /** Returns whether another context has the same values, whatever its trace. */
    public boolean hasValuesOf(CallContext other) {
        return values.keySet().equals(other.values.keySet())
                && values.entrySet().stream()
                        .allMatch(each -> Arrays.equals(each.getValue(), other.values.get(each.getKey())));
    }

    @Override
    public int hashCode() {
        int hash = Objects.hashCode(trace);
        for (Map.Entry<String, byte[]> each : values.entrySet()) {
            hash += each.getKey().hashCode() ^ Arrays.hashCode(each.getValue());
        }
        return hash;
    }

    /** Returns the names and the trace, without values. */
    @Override
    public String toString() {
        return "CallContext" + values.keySet() + (trace == null ? "" : " " + trace.traceparent());
    }
}
