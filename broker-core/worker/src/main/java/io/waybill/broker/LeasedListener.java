package io.waybill.broker;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/** Reference to an owner's listener until the first outcome. Thread-safe. */
final class LeasedListener implements ResponseListener {

    private final CallContext context = CallContext.current();
    private final AtomicReference<ResponseListener> listener;
    private final Consumer<LeasedListener> endListener;
    private final Runnable failed; // called when it throws

    LeasedListener(ResponseListener listener, Consumer<LeasedListener> endListener, Runnable failed) {
        this.failed = failed;
        this.listener = new AtomicReference<>(listener);
        this.endListener = endListener;
    }

    /** Returns the context of the call. */
    CallContext context() {
        return context;
    }

    /** Takes the listener, for the thread that notifies it; null once another thread has it. */
    ResponseListener take() {
        ResponseListener taken = listener.getAndSet(null);
        endListener.accept(this);
        return taken;
    }

    @Override
    public void onResponse(Response response) {
        ResponseListener taken = take();
        boolean returned = false;
        try {
            if (taken != null) {
                taken.onResponse(response);
            }
            returned = true;
        } finally { // the worker logs its exceptions, with the id of the call
            count(returned);
        }
    }

    @Override
    public void onFailure(CallException failure) {
        ResponseListener taken = take();
        boolean returned = false;
        try {
            if (taken != null) {
                taken.onFailure(failure);
            }
            returned = true;
        } finally {
            count(returned);
        }
    }

    private void count(boolean returned) {
        if (!returned) {
            failed.run();
        }
    }
}
