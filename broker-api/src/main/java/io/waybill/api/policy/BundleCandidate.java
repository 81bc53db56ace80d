package io.waybill.api.policy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.security.cert.CertPath;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/** Jar about which a {@link BundlePolicy} decides. Immutable; valid until the decision. */
@ProviderType
public interface BundleCandidate {

    /** Way by which a jar comes in. */
    enum Origin {
        /** A command, or a control call of a program. */
        COMMAND,
        /** The watched directory. */
        DIRECTORY
    }

    String symbolicName();

    /** Returns the version, such as {@code 1.2.0}. */
    String version();

    /** Returns the version of the bundle that the jar would replace; empty if none of its name is installed. */
    Optional<String> installedVersion();

    /** Returns the path that the jar was copied from. */
    Path source();

    Origin origin();

    /** Returns the SHA-256 hash of the jar, in lower-case hexadecimal. */
    String sha256();

    /**
     * Returns the certificates of each key that has signed all entries, its own first; empty for an unsigned jar. The
     * signatures are valid. Whether the certificates are to be trusted, or have expired, is the policy's decision.
     */
    List<CertPath> signers();

    /**
     * Opens the very bytes that will run. The caller closes the stream.
     *
     * @throws IOException if the node's copy can't be read
     */
    InputStream open() throws IOException;
}
