package io.waybill.osgi.jar;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Identity of a bundle's jar: name, version and hash. Immutable.
 *
 * @param sha256 hash of the file, in hexadecimal
 */
public record BundleVersion(String symbolicName, String version, String sha256) {

    /**
     * Reads a jar without running its code.
     *
     * @throws IOException if it can't be read, or is not a bundle that a node would install
     */
    public static BundleVersion of(Path jar) throws IOException {
        try {
            StagedJar checked = JarCheck.check(jar, jar, Staging.sha256(jar));
            return new BundleVersion(checked.symbolicName(), checked.version().toString(), checked.sha256());
        } catch (BundleRefusedException e) {
            throw new IOException(e.getMessage(), e);
        }
    }
}
