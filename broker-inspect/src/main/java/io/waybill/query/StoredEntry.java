package io.waybill.query;

import io.waybill.query.stored.StoredRecord;
import java.util.Optional;

/**
 * Record in the output of {@code journal tail}. Immutable.
 *
 * @param operation of a call by name
 */
public record StoredEntry(StoredRecord record, Optional<String> operation) {}
