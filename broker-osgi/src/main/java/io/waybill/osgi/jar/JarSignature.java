package io.waybill.osgi.jar;

import io.waybill.osgi.jar.BundleRefusedException.Reason;
import java.nio.file.Path;
import java.security.CodeSigner;
import java.security.cert.CertPath;
import java.security.cert.Certificate;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.Manifest;

/**
 * Checks that the signature of a signed jar covers exactly the jar's entries, with one key. The JDK verifies an entry
 * when it is read to its end, but would accept an unsigned entry, an entry signed with another key, a missing entry, or
 * a signature of an unknown kind. The identity of the key is not checked.
 *
 * <p><b>Threads.</b> One.
 */
final class JarSignature {

    private final Path source;
    private final boolean isSigned;
    private final Set<String> names = new HashSet<>();
    private Map<Certificate, CertPath> signers; // signers of all entries so far; null before the first one

    JarSignature(Path source, List<JarEntry> entries) {
        this.source = source;
        this.isSigned = entries.stream().anyMatch(entry -> isOfSignature(entry.getName()));
        entries.forEach(entry -> names.add(entry.getName()));
    }

    /** Checks an entry that was read to its end. */
    void require(JarEntry entry) throws BundleRefusedException {
        if (!isSigned || !mustBeSigned(entry)) {
            return;
        }
        Map<Certificate, CertPath> own = new LinkedHashMap<>();
        CodeSigner[] all = entry.getCodeSigners();
        for (CodeSigner each : all == null ? new CodeSigner[0] : all) {
            CertPath path = each.getSignerCertPath();
            own.put(path.getCertificates().get(0), path);
        }
        if (own.isEmpty()) {
            throw refused("is signed, and its signature is not valid for " + JarCheck.shorten(entry.getName()));
        }
        if (signers == null) {
            signers = own;
        }
        signers.keySet().retainAll(own.keySet());
        if (signers.isEmpty()) {
            throw refused("is signed, and " + JarCheck.shorten(entry.getName())
                    + " by another key than the other entries: one key must have signed them all");
        }
    }

    /** Returns the certificates of each key that has signed all entries. */
    List<CertPath> signers() {
        return signers == null ? List.of() : List.copyOf(signers.values());
    }

    /** Checks that no signed entry is missing. */
    void requireWhole(Manifest manifest) throws BundleRefusedException {
        if (!isSigned) {
            return;
        }
        Set<String> missing = new TreeSet<>();
        for (Map.Entry<String, Attributes> section : manifest.getEntries().entrySet()) {
            if (!names.contains(section.getKey()) && hasDigest(section.getValue())) {
                missing.add(section.getKey());
            }
        }
        if (!missing.isEmpty()) {
            throw refused("was changed after it was signed: it lacks "
                    + JarCheck.shorten(missing.iterator().next())
                    + (missing.size() > 1 ? " and " + (missing.size() - 1) + " more" : ""));
        }
    }

    private static boolean hasDigest(Attributes section) {
        return section.keySet().stream()
                .anyMatch(name -> name.toString().toUpperCase(Locale.ROOT).endsWith("-DIGEST"));
    }

    private static boolean mustBeSigned(JarEntry entry) {
        return !entry.isDirectory()
                && !entry.getName().equalsIgnoreCase(JarFile.MANIFEST_NAME)
                && !isOfSignature(entry.getName());
    }

    private static boolean isOfSignature(String entryName) {
        return entryName.toUpperCase(Locale.ROOT).matches("META-INF/(SIG-[^/]*|[^/]*\\.(SF|RSA|DSA|EC))");
    }

    private BundleRefusedException refused(String what) {
        return new BundleRefusedException(Reason.NO_BUNDLE, source + " " + what);
    }
}
