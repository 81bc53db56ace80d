package io.waybill.osgi.watch;

/**
 * A reading of the time or a draw of random numbers that did not use the outbox. Immutable.
 *
 * @param what such as {@code System.nanoTime()}
 * @param where as in a stack trace
 */
public record UnrecordedInput(String what, String where) {}
