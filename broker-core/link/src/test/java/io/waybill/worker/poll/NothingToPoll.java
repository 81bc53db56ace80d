package io.waybill.worker.poll;

/** Never has anything to poll. */
public final class NothingToPoll implements Polled {

    @Override
    public int poll() {
        return 0;
    }

    @Override
    public int pollAll() {
        return 0;
    }

    @Override
    public boolean mayHaveWork() {
        return false;
    }

    @Override
    public void readClock() {}
}
