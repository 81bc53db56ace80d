package io.waybill.api.state;

import java.time.Duration;

/**
 * An entry of a {@link StateStore}, without its value.
 *
 * @param bytes estimated size of key and value in memory
 * @param age since the value was set
 * @param idle since the value was set or read
 */
public record StateEntry(String key, long bytes, Duration age, Duration idle) {}
