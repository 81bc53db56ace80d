/**
 * Journals of a home as they are stored: lookup by worker, and records, payloads and tensors in a form for display.
 * {@link io.waybill.query.stored.StoredJournals} is the starting point.
 */
package io.waybill.query.stored;
