/**
 * Test doubles for extension points without a broker: a {@linkplain io.waybill.testing.core.TestMessage message}, an
 * {@linkplain io.waybill.testing.core.RecordingOutbox outbox} that keeps the response, a
 * {@linkplain io.waybill.testing.core.ManualWorker worker} with the test's handlers and interceptors, a
 * {@linkplain io.waybill.testing.core.ManualBroker broker} whose time and peers are the test's,
 * {@linkplain io.waybill.testing.core.TestEvent events}, {@linkplain io.waybill.testing.core.RecordingRun runs} of
 * commands, {@linkplain io.waybill.testing.core.TestBuffers memory} that is counted,
 * {@linkplain io.waybill.testing.core.Seeds seeds} of random tests, and
 * {@linkplain io.waybill.testing.core.Waits waits} for other threads.
 *
 * <p>Included in {@code broker-testing}, which adds a broker in the test's JVM.
 */
package io.waybill.testing.core;
