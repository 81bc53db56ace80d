package io.waybill.query;

import java.util.List;

/**
 * A request with the nested requests of its handler, recursively. Immutable.
 *
 * @param children oldest first
 */
public record CallTree(StoredCall call, List<CallTree> children) {

    public CallTree {
        children = List.copyOf(children);
    }
}
