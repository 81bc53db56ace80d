package io.waybill.osgi.jar;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertPath;
import java.util.List;
import org.osgi.framework.Version;

/**
 * Private, checked copy of a bundle's jar, which is the one that runs: no other process can change it in between.
 * Immutable.
 *
 * @param copy in the staging directory
 * @param source path of the original
 * @param sha256 hash of the copy, in hexadecimal
 * @param usesComponents whether the bundle has Declarative Services components
 * @param isExclusive whether no other version of the bundle may run at the same time, according to its manifest
 * @param signers certificates of each key that has signed all entries
 */
public record StagedJar(
        Path copy,
        Path source,
        String sha256,
        String symbolicName,
        Version version,
        boolean usesComponents,
        boolean isExclusive,
        List<CertPath> signers) {

    /** Header of the manifest that names a bundle's TorchScript scripts. */
    public static final String SCRIPTS = "Waybill-Scripts";

    /** Opens the jar for the framework, which closes it. */
    public InputStream open() throws IOException {
        return Files.newInputStream(copy);
    }

    /** Returns the same copy with an additional source. */
    public StagedJar from(Path other) {
        return new StagedJar(copy, other, sha256, symbolicName, version, usesComponents, isExclusive, signers);
    }

    @Override
    public String toString() {
        return symbolicName + " " + version;
    }
}
