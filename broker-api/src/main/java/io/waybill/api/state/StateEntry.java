package io.waybill.api.state;

import java.time.Duration;

/**
 * An entry of a {@link StateStore}, without its value.
 *
 * @param bytes estimated size of key and value in memory
 * @param age time since the value was set
 * @param idle time since the value was last set or read
 */
public record StateEntry(String key, long bytes, Duration age, Duration idle) {}
