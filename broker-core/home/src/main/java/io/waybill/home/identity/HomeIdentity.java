package io.waybill.home.identity;

import io.waybill.api.WorkerInfo;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Name of a home's host, and range of the worker ids that the home assigns. Homes whose workers call each other have
 * different names and separate ranges, so that a worker id, and with it a message id, is of one host.
 *
 * @param host 1 to 63 of {@code a-z 0-9 . -}, the first a letter or a digit
 * @param firstId lowest id of the range
 * @param lastId highest id of the range
 */
public record HomeIdentity(String host, int firstId, int lastId) {

    private static final String HOST = "[a-z0-9][a-z0-9.-]{0,62}"; // both are compiled for given identities only
    private static final String IDS = "(0|[1-9][0-9]{0,4})-(0|[1-9][0-9]{0,4})";
    private static final String DEFAULT_HOST = "local";

    /** Default identity of a home. */
    public static final HomeIdentity LOCAL = new HomeIdentity(DEFAULT_HOST, 0, 511);

    public HomeIdentity {
        if (!host.equals(DEFAULT_HOST) && !host.matches(HOST)) {
            throw new IllegalArgumentException("expected a host name that matches " + HOST + ", found '" + host + "'");
        }
        if (firstId < 0 || firstId > lastId || lastId > WorkerInfo.MAX_ID) {
            throw new IllegalArgumentException("expected worker ids FIRST-LAST from 0 to " + WorkerInfo.MAX_ID
                    + ", found " + firstId + "-" + lastId);
        }
    }

    /**
     * Reads the range from its text.
     *
     * @throws IllegalArgumentException when a name or a range is malformed
     */
    public static HomeIdentity of(String host, String ids) {
        Matcher matcher = Pattern.compile(IDS).matcher(ids);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("expected worker ids as FIRST-LAST, found '" + ids + "'");
        }
        return new HomeIdentity(host, Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)));
    }

    /** Returns whether this is {@link #LOCAL}: a home that shares ids with no other host. */
    public boolean isLocal() {
        return firstId == LOCAL.firstId && lastId == LOCAL.lastId && host.equals(DEFAULT_HOST);
    }

    /**
     * Returns whether the home may assign this id. A {@link #LOCAL} home continues behind its range, because no other
     * host has these ids.
     */
    public boolean includes(int id) {
        return isLocal() || id >= firstId && id <= lastId;
    }

    /** Returns the highest id that the home may assign. */
    public int maxId() {
        return isLocal() ? WorkerInfo.MAX_ID : lastId;
    }

    /** Returns the range as {@link #of} reads it. */
    public String ids() {
        return firstId + "-" + lastId;
    }

    @Override
    public String toString() {
        return "host " + host + " with worker ids " + ids();
    }
}
