package jcuda;

import io.waybill.cuda.CudaNatives;

/**
 * Loader of JCuda's native libraries, in place of JCuda's own class of this name: the original loads a library with a
 * fixed name from the directory for temporary files, where any user of the host can place one. Thread-safe.
 */
public final class LibUtilsCuda {

    private static final String DRIVER = "JCudaDriver-";

    private LibUtilsCuda() {}

    /**
     * Loads the library of the driver API, the only one here. {@code JCudaDriver} calls this method in its initializer,
     * where a failure is permanent: call this method first.
     *
     * @param name name of the library, without the platform's additions
     * @param dependencies ignored
     * @throws UnsatisfiedLinkError if it can't be loaded; the text states the missing file and what to do
     */
    public static void loadLibrary(String name, String... dependencies) {
        if (!name.startsWith(DRIVER)) {
            throw new UnsatisfiedLinkError(
                    "expected JCuda's driver API, found " + name + ", which is not in this bundle");
        }
        CudaNatives.load();
    }
}
