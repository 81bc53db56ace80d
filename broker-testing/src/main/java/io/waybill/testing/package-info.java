/**
 * Tests of bundles with a separate broker, in this JVM and in a temporary directory.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.testing.WaybillExtension} in a test
 *   <li>{@link io.waybill.testing.TestBroker} for its operations
 *   <li>{@link io.waybill.testing.WorkerSetup} for other workers, with bundles or in processes of their own
 * </ul>
 */
package io.waybill.testing;
