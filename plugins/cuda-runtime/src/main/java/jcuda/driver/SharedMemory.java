package jcuda.driver;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.security.SecureRandom;
import java.util.HashMap;
import java.util.Map;

/**
 * Additions to JCuda for shared device memory: the bytes of the driver's handles, which JCuda's class hides, and the
 * objects whose memory this process shares, since the driver can't open a handle in the process that created it.
 * Outlives the bundles that use it. Thread-safe.
 */
public final class SharedMemory {

    /** Size of the driver's handles, in bytes. */
    public static final int HANDLE_BYTES = 64;

    private static final SecureRandom RANDOM =
            new SecureRandom(); // an id must not be guessed: it stands for an address
    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();
    // guarded by the class
    private static final Map<Long, Key> BY_ID = new HashMap<>();
    private static final Map<Key, Key> KEYS = new HashMap<>();

    private SharedMemory() {}

    /** Returns the bytes of a handle. */
    public static byte[] bytes(CUipcMemHandle handle) {
        return content(handle).clone();
    }

    /** Returns the handle that has these bytes. */
    public static CUipcMemHandle handle(byte[] bytes) {
        byte[] content = content(new CUipcMemHandle());
        if (bytes.length != content.length) {
            throw new IllegalArgumentException(
                    "expected a handle of " + content.length + " bytes, found " + bytes.length);
        }
        CUipcMemHandle handle = new CUipcMemHandle();
        System.arraycopy(bytes, 0, content(handle), 0, bytes.length);
        return handle;
    }

    private static byte[] content(CUipcMemHandle handle) {
        try {
            Field field = CUipcMemHandle.class.getDeclaredField("reserved");
            field.setAccessible(true);
            return (byte[]) field.get(handle);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("expected JCuda's class of handles to have its bytes in a field 'reserved'", e);
        }
    }

    /**
     * Returns the id of an object whose memory is shared, always the same. {@link #find} returns the object until it is
     * garbage.
     */
    public static synchronized long idOf(Object shared) {
        for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
            KEYS.remove(gone);
            BY_ID.remove(((Key) gone).id);
        }
        Key key = new Key(shared);
        Key known = KEYS.get(key);
        if (known != null) {
            return known.id;
        }
        key.id = RANDOM.nextLong();
        KEYS.put(key, key);
        BY_ID.put(key.id, key);
        return key.id;
    }

    /** Returns the object of an id; null if this process shares no such object. */
    public static synchronized Object find(long id) {
        Key key = BY_ID.get(id);
        return key == null ? null : key.get();
    }

    /** Returns the number of known objects. */
    static synchronized int count() {
        return BY_ID.size();
    }

    /** Key of an object by its identity. */
    private static final class Key extends WeakReference<Object> {
        private final int hash;
        private long id; // guarded by the class

        Key(Object shared) {
            super(shared, GONE);
            this.hash = System.identityHashCode(shared);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return this == other || other instanceof Key key && get() != null && get() == key.get();
        }
    }
}
