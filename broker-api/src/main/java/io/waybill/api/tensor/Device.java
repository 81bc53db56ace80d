package io.waybill.api.tensor;

import java.util.Objects;

/**
 * A device, such as {@code cpu} or {@code cuda:1}.
 *
 * @param type the device type's name in lower case
 * @param index from 0; {@link #ANY_INDEX} if only the type is meant
 */
public record Device(String type, int index) {

    /** No particular device of the type. */
    public static final int ANY_INDEX = -1;

    public static final Device CPU = new Device("cpu", ANY_INDEX);

    public Device {
        Objects.requireNonNull(type);
        if (!type.matches("[a-z][a-z0-9_]{0,31}")) {
            throw new IllegalArgumentException("a device type is a name in lower case, such as cpu or cuda: " + type);
        }
        if (index < ANY_INDEX || index > 127) {
            throw new IllegalArgumentException("a device index is from 0 to 127: " + index);
        }
    }

    /** Parses {@code type} or {@code type:index}. */
    public static Device parse(String text) {
        int colon = text.indexOf(':');
        try {
            return colon < 0
                    ? new Device(text, ANY_INDEX)
                    : new Device(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("a device is written type or type:index, such as cuda:1: " + text, e);
        }
    }

    public boolean isCpu() {
        return type.equals("cpu");
    }

    @Override
    public String toString() {
        return index == ANY_INDEX ? type : type + ":" + index;
    }
}
