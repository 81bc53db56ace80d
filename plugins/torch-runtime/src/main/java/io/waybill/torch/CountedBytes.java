package io.waybill.torch;

import io.waybill.api.tensor.Storage;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.bytedeco.pytorch.Tensor;

/**
 * Bytes of messages that libtorch uses beyond their call: in a graph, in an attribute of a module, or in a task that a
 * function forked. A count of their storage is held while libtorch has a tensor over them in addition to the one here.
 *
 * <p>libtorch could call back when it frees a tensor. It does not here: its own threads free tensors too, and a thread
 * of its pool that was once inside Java keeps the process from ending.
 *
 * <p><b>Threads.</b> Any. The uses are checked when a call ends, and when a handle or a native storage is released; no
 * thread waits for another one's check. <b>Lifetime.</b> That of the process.
 */
final class CountedBytes {

    private static final Logger LOG = System.getLogger(CountedBytes.class.getName());

    /** Max number of uses per check; with more, a check continues where the last one ended. */
    private static final int MAX_CHECKED = 64;

    /** A storage, the tensor over all of it, and libtorch's storage inside that tensor. */
    private record Use(Storage storage, Tensor bytes, org.bytedeco.pytorch.Storage inside) {

        boolean isOver() {
            return inside.use_count() <= 1;
        }
    }

    private static final ReentrantLock LOCK = new ReentrantLock();
    /** Lock for the release of storages, which is foreign code; the other lock is not held then. */
    private static final ReentrantLock SWEEPING = new ReentrantLock();

    private static final Deque<Use> USES = new ArrayDeque<>(); // guarded by LOCK

    private CountedBytes() {}

    /**
     * Ends the use of a storage by a call, whose {@code PointerScope} was closed.
     *
     * @param bytes the tensor over all of it, whose reference changes ownership
     */
    static void letGo(Storage storage, Tensor bytes) {
        Use use = new Use(storage, bytes, bytes.storage());
        if (use.isOver()) {
            bytes.releaseReference();
            return;
        }
        storage.retain();
        LOCK.lock();
        try {
            USES.add(use);
        } finally {
            LOCK.unlock();
        }
    }

    /** Releases storages that libtorch no longer uses. */
    static void sweep() {
        if (SWEEPING.isHeldByCurrentThread() || !SWEEPING.tryLock()) {
            return; // a release may end further uses: the loop finds them, not a recursion
        }
        try {
            List<Use> ended = ended(MAX_CHECKED);
            while (!ended.isEmpty()) {
                release(ended);
                ended = ended(MAX_CHECKED);
            }
        } finally {
            SWEEPING.unlock();
        }
    }

    private static List<Use> ended(int max) {
        LOCK.lock();
        try {
            return endedLocked(max);
        } finally {
            LOCK.unlock();
        }
    }

    private static List<Use> endedLocked(int max) {
        List<Use> ended = List.of();
        for (int left = Math.min(max, USES.size()); left > 0; left--) {
            Use use = USES.poll();
            if (!use.isOver()) {
                USES.add(use);
            } else {
                ended = ended.isEmpty() ? new ArrayList<>() : ended;
                ended.add(use);
            }
        }
        return ended;
    }

    private static void release(List<Use> ended) {
        for (Use use : ended) {
            use.bytes.releaseReference();
            try {
                use.storage.release();
            } catch (RuntimeException e) { // the boundary around a storage
                LOG.log(Level.WARNING, "A storage that libtorch no longer uses could not be released", e);
            }
        }
    }

    /** Releases all storages that libtorch no longer uses, and returns how many it uses. */
    static int count() {
        for (List<Use> ended = ended(Integer.MAX_VALUE); !ended.isEmpty(); ended = ended(Integer.MAX_VALUE)) {
            release(ended);
        }
        LOCK.lock();
        try {
            return USES.size();
        } finally {
            LOCK.unlock();
        }
    }
}
