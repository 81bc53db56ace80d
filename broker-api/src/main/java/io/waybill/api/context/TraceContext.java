package io.waybill.api.context;

import java.util.random.RandomGenerator;

/**
 * The part of a trace that a call belongs to, as in W3C Trace Context: the trace, the span that the call is made from,
 * and a flag whether the trace is recorded.
 *
 * <p>Each call of a traced context gets its own span, whose id is recorded with it: the handler reads this id from
 * {@link #spanId}, and the record also has the id of the caller's span.
 *
 * @param traceIdHigh the first 8 bytes of the trace id, which is not 0
 * @param traceIdLow the last 8 bytes of the trace id
 * @param spanId the id of the span that calls are made from, which is not 0
 * @param flags bit 0: the trace is sampled; bit 1: the trace id is random. other bits are dropped
 * @param state the text of {@code tracestate}; empty for none
 */
public record TraceContext(long traceIdHigh, long traceIdLow, long spanId, int flags, String state) {

    /** Flag of a trace that is recorded. */
    public static final int SAMPLED = 1;

    /** Flag of a trace whose id is random. */
    public static final int RANDOM = 2;

    /** Max characters of {@code tracestate}. */
    public static final int MAX_STATE_LENGTH = 512;

    /** Max members of {@code tracestate}. */
    public static final int MAX_STATE_MEMBERS = 32;

    static final String PARENT_NAME = "traceparent";
    static final String STATE_NAME = "tracestate";

    private static final int KNOWN_FLAGS = SAMPLED | RANDOM;
    // 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
    private static final int TRACE_AT = 3;
    private static final int SPAN_AT = 36;
    private static final int FLAGS_AT = 53;
    private static final int LENGTH = 55;
    private static final int LONG_DIGITS = 16;

    /** Validates the fields. */
    public TraceContext {
        if ((traceIdHigh | traceIdLow) == 0 || spanId == 0) {
            throw new IllegalArgumentException("the ids of a trace and of a span are not 0: trace " + hex(traceIdHigh)
                    + hex(traceIdLow) + ", span " + hex(spanId));
        }
        requireState(state);
        flags &= KNOWN_FLAGS;
    }

    private static void requireState(String state) {
        if (state.length() > MAX_STATE_LENGTH) {
            throw new ContextLimitException("characters of tracestate", MAX_STATE_LENGTH, state.length());
        }
        int members = 1;
        for (int i = 0; i < state.length(); i++) {
            char each = state.charAt(i);
            if (each < ' ' || each > '~') {
                throw new IllegalArgumentException(
                        "tracestate consists of printable characters of ASCII, and character " + i + " is none");
            }
            members += each == ',' ? 1 : 0;
        }
        if (members > MAX_STATE_MEMBERS) {
            throw new ContextLimitException("members of tracestate", MAX_STATE_MEMBERS, members);
        }
    }

    /**
     * Begins a sampled trace.
     *
     * @param random source of the ids; in a handler, its outbox's, so that a replay has the same ids
     */
    public static TraceContext begin(RandomGenerator random) {
        return new TraceContext(random.nextLong(), nonZero(random), nonZero(random), KNOWN_FLAGS, "");
    }

    private static long nonZero(RandomGenerator random) {
        long value = random.nextLong();
        while (value == 0) {
            value = random.nextLong();
        }
        return value;
    }

    /**
     * Reads the text of {@code traceparent}.
     *
     * @throws IllegalArgumentException if the text is not valid; the message says where
     */
    public static TraceContext parse(String traceparent) {
        return parse(traceparent, "");
    }

    /**
     * Reads the texts of {@code traceparent} and {@code tracestate}.
     *
     * @param tracestate empty for none
     * @throws ContextLimitException if {@code tracestate} is too long
     * @throws IllegalArgumentException if a text is not valid; the message says where
     */
    public static TraceContext parse(String traceparent, String tracestate) {
        if (traceparent.length() < LENGTH) {
            throw malformed("it has " + traceparent.length() + " characters, of at least " + LENGTH);
        }
        long version = digits(traceparent, 0, 2);
        if (version == 0xff) {
            throw malformed("it has the version ff, which is none");
        }
        boolean isLonger = traceparent.length() > LENGTH;
        if (isLonger && (version == 0 || traceparent.charAt(LENGTH) != '-')) {
            throw malformed("behind the flags at character " + LENGTH
                    + " a text of version 00 ends, and one of a later version ends or has a hyphen");
        }
        requireHyphen(traceparent, TRACE_AT - 1);
        requireHyphen(traceparent, SPAN_AT - 1);
        requireHyphen(traceparent, FLAGS_AT - 1);
        long high = digits(traceparent, TRACE_AT, LONG_DIGITS);
        long low = digits(traceparent, TRACE_AT + LONG_DIGITS, LONG_DIGITS);
        long span = digits(traceparent, SPAN_AT, LONG_DIGITS);
        if ((high | low) == 0) {
            throw malformed("its trace id is 0");
        }
        if (span == 0) {
            throw malformed("its span id is 0");
        }
        return new TraceContext(high, low, span, (int) digits(traceparent, FLAGS_AT, 2), tracestate);
    }

    private static void requireHyphen(String text, int at) {
        if (text.charAt(at) != '-') {
            throw malformed("it has no hyphen at character " + at);
        }
    }

    private static long digits(String text, int from, int count) {
        long value = 0;
        for (int at = from; at < from + count; at++) {
            char each = text.charAt(at);
            boolean isDigit = each >= '0' && each <= '9';
            if (!isDigit && (each < 'a' || each > 'f')) {
                throw malformed("it has no digit of 0-9 and a-f at character " + at);
            }
            value = value << 4 | (isDigit ? each - '0' : each - 'a' + 10);
        }
        return value;
    }

    private static IllegalArgumentException malformed(String why) {
        return new IllegalArgumentException(
                "a traceparent has the form 00-<32 digits>-<16 digits>-<2 digits>, and this one does not: " + why);
    }

    /** Returns the text of {@code traceparent}. */
    public String traceparent() {
        return "00-" + traceId() + "-" + hex(spanId) + "-0" + flags;
    }

    /** Returns the trace id, in 32 hexadecimal digits. */
    public String traceId() {
        return hex(traceIdHigh) + hex(traceIdLow);
    }

    /** Returns whether the trace is recorded. */
    public boolean isSampled() {
        return (flags & SAMPLED) != 0;
    }

    /**
     * Returns the same trace, in another span.
     *
     * @throws IllegalArgumentException if the id is 0
     */
    public TraceContext inSpan(long otherSpanId) {
        return new TraceContext(traceIdHigh, traceIdLow, otherSpanId, flags, state);
    }

    private static String hex(long value) {
        StringBuilder text = new StringBuilder(LONG_DIGITS);
        for (int shift = Long.SIZE - 4; shift >= 0; shift -= 4) {
            text.append(Character.forDigit((int) (value >>> shift) & 0xf, 16));
        }
        return text.toString();
    }
}
