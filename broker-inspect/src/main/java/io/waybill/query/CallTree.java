package io.waybill.query;

import java.util.List;

/**
 * A request with all that its handler asked for, and so on down. Immutable.
 *
 * @param children oldest first
 */
public record CallTree(StoredCall call, List<CallTree> children) {

    public CallTree {
        children = List.copyOf(children);
    }
}
