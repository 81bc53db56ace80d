package io.waybill.cli.conformance.play;

import io.waybill.api.Storage;
import io.waybill.api.Value;

/** Counts of the storages under a value. Stateless. */
final class Held {

    private Held() {}

    /** Takes one more count of the storage of each tensor. Returns the value. */
    static Value retain(Value value) {
        each(value, Storage::retain);
        return value;
    }

    /** Gives one count of the storage of each tensor back. */
    static void release(Value value) {
        each(value, Storage::release);
    }

    private static void each(Value value, java.util.function.Consumer<Storage> action) {
        if (value instanceof Value.OfTensor tensor) {
            action.accept(tensor.value().storage());
        } else if (value instanceof Value.OfSparse sparse) {
            action.accept(sparse.value().indices().storage());
            action.accept(sparse.value().values().storage());
        } else if (value instanceof Value.Items items) {
            items.values().forEach(element -> each(element, action));
        } else if (value instanceof Value.Tuple tuple) {
            tuple.values().forEach(element -> each(element, action));
        } else if (value instanceof Value.Dict dict) {
            dict.entries().forEach((key, element) -> {
                each(key, action);
                each(element, action);
            });
        }
    }
}
