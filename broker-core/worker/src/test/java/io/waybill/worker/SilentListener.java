package io.waybill.worker;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;

/** Runs something at an outcome, whatever that is. */
public final class SilentListener implements ResponseListener {

    private final Runnable then;

    public SilentListener() {
        this(() -> {});
    }

    public SilentListener(Runnable then) {
        this.then = then;
    }

    @Override
    public void onResponse(Response response) {
        then.run();
    }

    @Override
    public void onFailure(CallException failure) {
        then.run();
    }
}
