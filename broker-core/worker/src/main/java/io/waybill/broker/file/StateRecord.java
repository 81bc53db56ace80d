package io.waybill.broker.file;

import io.waybill.api.Value;

/**
 * Entry of a store in a file.
 *
 * @param ageNs time since its value was set
 * @param idleNs time since it was used
 */
public record StateRecord(String key, Value value, long ageNs, long idleNs) {}
