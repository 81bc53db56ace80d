package io.waybill.worker;

import io.waybill.api.ResponseListener;

/** A listener of the broker's own that keeps the response beyond the callback. */
interface KeepingListener extends ResponseListener {}
