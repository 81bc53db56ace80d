package io.waybill.osgi.watch;

/**
 * Reading of the time, or draw of random numbers, outside of the outbox. Immutable.
 *
 * @param what such as {@code System.nanoTime()}
 * @param where as in a stack trace
 */
public record UnrecordedInput(String what, String where) {}
