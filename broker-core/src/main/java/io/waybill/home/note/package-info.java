/**
 * What a worker notes in files beside its journal, for those who read it later: how calls ended without a response, and which bundles gave
 * responses. Start at {@link io.waybill.home.note.NotedOutcomes}.
 */
package io.waybill.home.note;
