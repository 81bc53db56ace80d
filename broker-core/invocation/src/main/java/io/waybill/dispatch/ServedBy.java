package io.waybill.dispatch;

/**
 * The provider of a handler, as records and events name it. Does not refer to the handler or its classes.
 *
 * @param number {@link Provider#number}; 0 for none
 * @param text name and version, as {@code waybill journal show} prints them; empty for none
 */
public record ServedBy(long number, String text) {

    /** That of a request which no handler got. */
    public static final ServedBy NONE = new ServedBy(0, "");

    static ServedBy of(Provider provider) {
        String text = provider.version().isEmpty() ? provider.name() : provider.toString();
        return new ServedBy(provider.number(), text);
    }
}
