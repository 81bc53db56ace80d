/**
 * Journals of a home as they are stored: found by worker, and their records, payloads and tensors in a form to be shown. {@link
 * io.waybill.query.stored.StoredJournals} is where to start.
 */
package io.waybill.query.stored;
