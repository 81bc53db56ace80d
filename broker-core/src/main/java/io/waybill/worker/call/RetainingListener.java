package io.waybill.worker.call;

import io.waybill.api.ResponseListener;

/** A listener of the broker's own that keeps the response beyond the callback. */
interface RetainingListener extends ResponseListener {}
