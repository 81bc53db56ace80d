package io.waybill.api.admin;

import java.time.Instant;

/**
 * A class loader that is still reachable although its bundle was updated or removed. Immutable.
 *
 * @param name symbolic name of the bundle
 * @param since time at which the bundle left
 * @param ageMs milliseconds since then
 */
public record LoaderInfo(String name, String version, Instant since, long ageMs) {}
