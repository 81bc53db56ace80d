package io.waybill.worker.call;

import io.waybill.api.ResponseListener;

/** Internal listener that keeps the response beyond the callback. */
interface RetainingListener extends ResponseListener {}
