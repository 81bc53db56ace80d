package io.waybill.script.tensor;

import io.waybill.api.tensor.Storage;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.bytedeco.pytorch.Tensor;

/**
 * Arguments that a script kept beyond its call: in an attribute of a module, or in a task that it forked and did not
 * wait for. Their bytes belong to a message, and stay as long as libtorch uses them.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> Holds a count of each storage until libtorch's tensor over it is unused,
 * which is checked before every call.
 */
public final class EscapedTensors {

    /** A storage with the tensor that covers it. */
    private record Escaped(Storage storage, Tensor tensor) {}

    private final Queue<Escaped> escaped = new ConcurrentLinkedQueue<>();

    /** Whether libtorch uses this tensor, or its storage, besides the one reference that is ours. */
    static boolean isUsedElsewhere(Tensor tensor) {
        return tensor.use_count() > 1 || tensor.storage().use_count() > 1;
    }

    /** Keeps a storage with a tensor, and takes over the tensor's reference. */
    void keep(Storage storage, Tensor tensor) {
        escaped.add(new Escaped(storage.retain(), tensor));
    }

    /** Releases storages that are unused. Requires an open {@code PointerScope}. */
    public void sweep() {
        if (!escaped.isEmpty()) {
            sweepOneAtATime();
        }
    }

    private synchronized void sweepOneAtATime() {
        for (Iterator<Escaped> all = escaped.iterator(); all.hasNext(); ) {
            Escaped one = all.next();
            if (!isUsedElsewhere(one.tensor)) {
                all.remove();
                one.tensor.releaseReference();
                one.storage.release();
            }
        }
    }

    public int size() {
        return escaped.size();
    }
}
