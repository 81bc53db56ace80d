package io.waybill.worker.inner;

import io.waybill.handling.CallReports;
import io.waybill.handling.Failure;

/**
 * Reports what happens to messages inside others.
 *
 * <p><b>Threads.</b> Any.
 */
final class InnerReports {

    private final CallReports reports;

    InnerReports(CallReports reports) {
        this.reports = reports;
    }

    /** Reports a request whose handler is about to be called. */
    void begun(InnerRequest request) {
        if (!reports.isEmpty()) {
            reports.begunInside(request.view(), request.outer().depth() + 1, request.tensorCount());
        }
    }

    /**
     * Reports the end of a request.
     *
     * @param why null when its handler responded
     * @param here whether the calling thread may call the listeners
     */
    void ended(InnerRequest request, Failure why, boolean here) {
        if (!reports.isEmpty()) {
            reports.respondedInside(request.view(), request.outer().depth() + 1, why == null ? null : why.code(), here);
        }
    }
}
