package io.waybill.osgi.jar;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.osgi.framework.Version;

/**
 * The private copy of a bundle that was checked, and that runs: no other process can change it in between. Immutable.
 *
 * @param copy in the staging directory
 * @param source where it was taken from
 * @param sha256 of the copy, in hexadecimal
 * @param usesComponents whether the bundle has Declarative Services components
 */
public record StagedJar(
        Path copy, Path source, String sha256, String symbolicName, Version version, boolean usesComponents) {

    /** Opens the jar for the framework, which closes it. */
    public InputStream open() throws IOException {
        return Files.newInputStream(copy);
    }

    /** The same copy, which was found somewhere else, too. */
    public StagedJar from(Path other) {
        return new StagedJar(copy, other, sha256, symbolicName, version, usesComponents);
    }

    @Override
    public String toString() {
        return symbolicName + " " + version;
    }
}
