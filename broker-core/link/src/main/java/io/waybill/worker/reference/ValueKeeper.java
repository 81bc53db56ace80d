package io.waybill.worker.reference;

import io.waybill.api.CallException;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.home.WorkerDirectory;
import io.waybill.kept.DamagedValueException;
import io.waybill.kept.KeptValue;
import io.waybill.kept.KeptValues;
import io.waybill.rref.Keeping;
import io.waybill.rref.OwnerReference;
import io.waybill.rref.RRefErrors;
import io.waybill.rref.References;
import io.waybill.rref.id.RRefId;
import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps values of this worker on its disk: on request, or all of them if so configured. Restores values of earlier
 * incarnations in {@link #restore}.
 *
 * <p><b>Threads.</b> Any. A value is written on the thread that created it, if that may block; files are removed, and
 * values of threads that may not block are written, one after the other in the background.
 */
public final class ValueKeeper {

    private static final Logger LOG = LoggerFactory.getLogger(ValueKeeper.class);

    private final int owner;
    private final KeptValues values;
    private final Keeping keeping;
    private final ReferenceCalls calls;
    private final References references;
    private final SerialExecutor disk;
    private final Queue<RRefId> forgotten = new ConcurrentLinkedQueue<>();

    ValueKeeper(
            WorkerDirectory directory,
            Keeping keeping,
            ReferenceCalls calls,
            References references,
            SerialExecutor disk) {
        this.owner = directory.id();
        this.values = new KeptValues(
                directory.path(),
                owner,
                (int) directory.epoch(),
                directory.home().host().files());
        this.keeping = keeping;
        this.calls = calls;
        this.references = references;
        this.disk = disk;
    }

    // ---- writing

    /** Publishes a value that was created for a peer: to be fetched once it is kept, if it is to be kept. */
    public void finish(RRefId id, String type, StoredValue value) {
        if (!isToBeKept(value)) {
            references.creations().finish(id, value);
        } else if (calls.mayBlock()) {
            keepAndFinish(id, type, value);
        } else {
            disk.run(() -> keepAndFinish(id, type, value));
        }
    }

    private boolean isToBeKept(StoredValue value) {
        return keeping == Keeping.ALL && value.references().isEmpty();
    }

    private void keepAndFinish(RRefId id, String type, StoredValue value) {
        try {
            value.keep(id, type, this);
        } catch (CallException e) {
            value.close();
            references.creations().finishFailed(id, e);
            return;
        }
        references.creations().finish(id, value);
    }

    /**
     * Keeps a value that the program created, if so configured.
     *
     * @throws CallException when it is to be kept, and can't be; not on the poller, where it is kept later in the
     * background
     */
    public void owned(OwnerReference reference, StoredValue value) {
        if (!isToBeKept(value)) {
            return;
        }
        if (calls.mayBlock()) {
            value.keep(reference.id(), reference.type(), this);
            return;
        }
        references.retain(reference);
        disk.run(() -> {
            try {
                value.keep(reference.id(), reference.type(), this);
            } catch (CallException e) {
                LOG.error("A value lives without being kept", e);
            } finally {
                references.release(reference);
            }
        });
    }

    /**
     * Writes a value.
     *
     * @throws CallException when it can't be written
     */
    void write(KeptValue value) {
        try {
            values.write(value);
        } catch (IOException | IllegalArgumentException e) {
            throw RRefErrors.notKept(value.id(), e.getMessage());
        }
    }

    // ---- removal

    /** Removes a value that no worker can reach any more. */
    void forget(RRefId id) {
        forgotten.add(id);
        disk.run(this::removeForgotten);
    }

    private void removeForgotten() {
        for (RRefId id = forgotten.poll(); id != null; id = forgotten.poll()) {
            try {
                values.forget(id);
            } catch (IOException e) {
                LOG.warn(
                        "The file of a value without references can't be removed; the next incarnation of this worker removes it",
                        e);
            }
        }
    }

    /** Starts actions that could not be begun. Call regularly. */
    void tick() {
        disk.start();
    }

    /** Runs the remaining actions, after the background executor has ended. */
    void close() {
        removeForgotten();
    }

    // ---- restoring

    /** Restores the values that earlier incarnations kept, before a peer can fetch one. */
    void restore(TensorBuffers buffers) {
        try {
            for (RRefId id : values.list()) {
                restore(id, buffers);
            }
        } catch (IOException e) {
            LOG.error("What this worker had kept can't be listed: its users are told that it is lost", e);
        }
    }

    private void restore(RRefId id, TensorBuffers buffers) {
        try {
            KeptValue kept = values.read(id, buffers);
            references.creations().restore(id, StoredValue.restored(kept, this), kept.type());
        } catch (DamagedValueException e) {
            lost(id, setAside(id, e.getMessage()));
        } catch (IOException | CallException e) {
            lost(id, e.getMessage());
        }
    }

    private String setAside(RRefId id, String damage) {
        try {
            return damage + "; it is " + values.setAside(id) + " now";
        } catch (IOException e) {
            return damage + "; and it can't be set aside: " + e.getMessage();
        }
    }

    private void lost(RRefId id, String why) {
        LOG.error("The kept value of {} is lost: {}", id, why);
        references.creations().restoreFailed(id, RRefErrors.notRestored(id, owner, why));
    }
}
