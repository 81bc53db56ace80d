package io.waybill.query;

import java.util.Optional;

/**
 * A record as {@code journal tail} shows it. Immutable.
 *
 * @param operation of a call by name
 */
public record StoredEntry(StoredRecord record, Optional<String> operation) {}
