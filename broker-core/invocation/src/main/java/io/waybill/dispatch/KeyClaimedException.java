package io.waybill.dispatch;

/** Thrown when a provider claims a key that a handler of another provider has. */
public final class KeyClaimedException extends Exception {

    private static final long serialVersionUID = 1;

    KeyClaimedException(HandlerKey key, Provider by, Provider claimant) {
        super(claimant + " claims " + key.text() + ", which " + by
                + " handles; stop or uninstall one of the two, or give it another key");
    }
}
