package jcuda;

import io.waybill.cuda.CudaNatives;

/**
 * Loader of JCuda's native libraries, in place of JCuda's own class of this name: that one loads what it finds under a fixed name in the
 * directory for temporary files, where any user of the host can put a library. Thread-safe.
 */
public final class LibUtilsCuda {

    private static final String DRIVER = "JCudaDriver-";

    private LibUtilsCuda() {}

    /**
     * Loads a library, if it is that of the driver API; there are no others here. {@code JCudaDriver} calls it when it is initialized, and fails for good if
     * this throws: call this first.
     *
     * @param name of the library, without what the platform adds
     * @param dependencies ignored
     * @throws UnsatisfiedLinkError when it can't be loaded, with what is missing and what to do
     */
    public static void loadLibrary(String name, String... dependencies) {
        if (!name.startsWith(DRIVER)) {
            throw new UnsatisfiedLinkError(
                    "expected JCuda's driver API, found " + name + ", which is not in this bundle");
        }
        CudaNatives.load();
    }
}
