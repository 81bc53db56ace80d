package io.waybill.query;

import io.waybill.query.stored.StoredRecord;
import java.util.Optional;

/**
 * A record as {@code journal tail} shows it. Immutable.
 *
 * @param operation of a call by name
 */
public record StoredEntry(StoredRecord record, Optional<String> operation) {}
