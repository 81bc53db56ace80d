package io.waybill.injection;

import io.waybill.api.MessageType;

/**
 * Decides the fate of each request of a worker. The same requests in the same order meet the same fates: nothing is
 * random.
 *
 * <p>One thread at a time.
 */
public final class Injector {

    private final InjectionSettings settings;
    private final Attempts attempts = new Attempts();

    public Injector(InjectionSettings settings) {
        this.settings = settings;
    }

    /**
     * Returns the fate of a request that is about to be sent.
     *
     * @param to the receiver's id
     * @param payload the same at every attempt to send the same request; not changed, not kept
     */
    public Fate next(MessageType type, int to, byte[] payload) {
        if (!settings.concerns(type)) {
            return Fate.SENT;
        }
        boolean fails = settings.fail().contains(type);
        boolean isLost = settings.drop().contains(type);
        long before = fails || isLost ? attempts.count(type, to, payload) : 0;
        if (fails && before < settings.times()) {
            return Fate.FAILED;
        }
        long failed = fails ? settings.times() : 0;
        if (isLost && before - failed < settings.times()) {
            return Fate.LOST;
        }
        return sent(type);
    }

    private Fate sent(MessageType type) {
        int copies = settings.duplicate().contains(type) ? 2 : 1;
        if (settings.delay().containsKey(type)) {
            return new Fate(Fate.Way.LATE, settings.delay().get(type).toNanos(), copies);
        }
        return new Fate(settings.reorder().contains(type) ? Fate.Way.SWAPPED : Fate.Way.SENT, 0, copies);
    }
}
