package io.waybill.tool;

import io.waybill.api.Value;
import io.waybill.api.tool.ToolRun;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** Output that a command has written and its user has not read. Not thread-safe: its session guards it. */
final class UnreadOutput {

    private static final int MAX_UNREAD = 1 << 20;
    private static final int MAX_READ = 256 << 10;

    /** Text, or a document as a tuple of one. */
    private record Item(Value value, int size) {}

    private final Deque<Item> items = new ArrayDeque<>();
    private int size;
    private long written;

    /** Returns whether there is room for an item of this size. */
    boolean hasRoom(int itemSize) {
        return size + itemSize <= MAX_UNREAD;
    }

    /** Counts an item. Returns whether the run may write this amount. */
    boolean count(int itemSize) {
        written += itemSize;
        return written <= ToolRun.MAX_OUTPUT;
    }

    void add(Value value, int itemSize) {
        items.add(new Item(value, itemSize));
        size += itemSize;
    }

    boolean isEmpty() {
        return items.isEmpty();
    }

    /** Takes the items that fit into one response. */
    List<Value> take() {
        List<Value> taken = new ArrayList<>();
        int takenSize = 0;
        while (!items.isEmpty() && takenSize + items.peek().size <= MAX_READ) {
            Item item = items.poll();
            taken.add(item.value);
            takenSize += item.size;
        }
        size -= takenSize;
        return taken;
    }
}
