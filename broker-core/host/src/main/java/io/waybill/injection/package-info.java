/**
 * Fault injection: requests that fail, are lost, late, duplicated or out of order, so that the code that must survive
 * this can be checked. This package decides the fate of each request; the worker carries it out.
 *
 * <p>Start at {@link io.waybill.injection.InjectionSettings}.
 */
package io.waybill.injection;
