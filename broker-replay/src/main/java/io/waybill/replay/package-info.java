/** Replay of recorded requests on present or future handlers, with a comparison of the outcomes. */
package io.waybill.replay;
