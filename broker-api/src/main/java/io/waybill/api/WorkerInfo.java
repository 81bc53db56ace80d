package io.waybill.api;

import java.util.regex.Pattern;

/**
 * Id and name of a worker, both unique in its home. Rules as in PyTorch ({@code rpc_agent.h}, {@code WorkerInfo}).
 *
 * @param id 0..32767
 * @param name 1..127 of {@code A-Z a-z 0-9 - _ :}
 */
public record WorkerInfo(int id, String name) {

    /** Maximum worker id: an int16, as in PyTorch. */
    public static final int MAX_ID = Short.MAX_VALUE;
    /** Maximum length of a name. */
    public static final int MAX_NAME_LENGTH = 127;

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_:-]{1,127}");

    public WorkerInfo {
        if (id < 0 || id > MAX_ID) {
            throw new IllegalArgumentException("RPC worker id " + id + " out of bound of int16_t.");
        }
        requireName(name);
    }

    /**
     * Formats the address of a worker by its id alone, {@code #12}, for {@link Request#to()}. Unlike the bare digits,
     * it can't be confused with a name.
     */
    public static String address(int id) {
        return "#" + id;
    }

    /**
     * Validates a name.
     *
     * @throws IllegalArgumentException with PyTorch's text if the name breaks the rules
     */
    public static String requireName(String name) {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "Worker name must match ^[A-Za-z0-9-_:]*$, and must be non-empty and shorter"
                            + " than 128 chars, but got "
                            + (name.length() > 200 ? name.substring(0, 200) + "…" : name));
        }
        return name;
    }

    @Override
    public String toString() {
        return "WorkerInfo(id=" + id + ", name=" + name + ")";
    }
}
