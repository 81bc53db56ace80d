/**
 * Notes of a worker in files beside its journal, for later readers: how calls ended without a response, and which
 * bundles gave responses. Start at {@link io.waybill.home.note.NotedOutcomes}.
 */
package io.waybill.home.note;
