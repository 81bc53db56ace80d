package io.waybill.osgi.watch;

/**
 * A look at the time, or a draw of random numbers, that did not go through the outbox. Immutable.
 *
 * @param what such as {@code System.nanoTime()}
 * @param where as in a stack trace
 */
public record UnrecordedInput(String what, String where) {}
