package io.waybill.osgi.jar;

import io.waybill.api.handler.Exclusive;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.zip.CRC32;
import java.util.zip.ZipException;
import org.osgi.framework.Version;

/**
 * Checks a jar without running its code: that it is a jar, that its unpacked size and paths are within bounds, that it
 * is not damaged, that a signature is valid for all of it, and that it is a bundle that may be installed. Stateless.
 */
final class JarCheck {

    private static final int MAX_ENTRIES = 200_000;
    private static final int MAX_MANIFEST_BYTES = 1 << 20;
    /** Max ratio of the content's size to the jar's size. */
    private static final long MAX_EXPANSION = 100;
    /** Size of content that is allowed regardless of the jar's size. */
    private static final long MIN_EXPANDED_BYTES = 1 << 20;

    private static final int MAX_NAME_LENGTH = 200;

    private JarCheck() {}

    static StagedJar check(Path copy, Path source, String sha256) throws BundleRefusedException, IOException {
        try (JarFile jar = new JarFile(copy.toFile(), true)) {
            JarSignature signature = checkEntries(jar, source, copy.toFile().length());
            Attributes manifest = manifest(jar, source);
            signature.requireWhole(jar.getManifest());
            return new StagedJar(
                    copy,
                    source,
                    sha256,
                    symbolicName(manifest, source),
                    version(manifest, source),
                    manifest.getValue("Service-Component") != null,
                    isExclusive(manifest),
                    signature.signers());
        } catch (ZipException e) {
            throw new BundleRefusedException(Reason.NO_BUNDLE, source + " is not a jar: " + Staging.describe(e), e);
        } catch (SecurityException e) {
            throw new BundleRefusedException(
                    Reason.NO_BUNDLE, source + " was changed after it was signed: " + e.getMessage(), e);
        }
    }

    private static JarSignature checkEntries(JarFile jar, Path source, long jarBytes)
            throws BundleRefusedException, IOException {
        if (jar.size() > MAX_ENTRIES) {
            throw refused(source, "has " + jar.size() + " entries, and at most " + MAX_ENTRIES + " are allowed");
        }
        List<JarEntry> entries = Collections.list(jar.entries());
        long left = Math.max(MIN_EXPANDED_BYTES, MAX_EXPANSION * jarBytes);
        for (JarEntry entry : entries) {
            if (leavesTheJar(entry.getName())) {
                throw refused(source, "has an entry that would be unpacked elsewhere: " + shorten(entry.getName()));
            }
            left = take(left, Math.max(0, entry.getSize()), source);
        }
        return readEntries(jar, entries, source, jarBytes);
    }

    private static long take(long left, long bytes, Path source) throws BundleRefusedException {
        if (bytes > left) {
            throw refused(source, "would unpack to more than " + MAX_EXPANSION + " times its size");
        }
        return left - bytes;
    }

    /** Reads all entries, regardless of their declared sizes, and checks their signatures. */
    private static JarSignature readEntries(JarFile jar, List<JarEntry> entries, Path source, long jarBytes)
            throws BundleRefusedException, IOException {
        JarSignature signature = new JarSignature(source, entries);
        byte[] buffer = new byte[1 << 16];
        long left = Math.max(MIN_EXPANDED_BYTES, MAX_EXPANSION * jarBytes);
        for (JarEntry entry : entries) {
            CRC32 checksum = new CRC32();
            try (InputStream in = jar.getInputStream(entry)) {
                for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                    left = take(left, read, source);
                    checksum.update(buffer, 0, read);
                }
            }
            if (entry.getCrc() >= 0 && entry.getCrc() != checksum.getValue()) {
                throw refused(source, "is damaged: the checksum of " + shorten(entry.getName()) + " does not match");
            }
            signature.require(entry);
        }
        return signature;
    }

    private static boolean leavesTheJar(String name) {
        return name.startsWith("/")
                || name.indexOf('\\') >= 0
                || name.indexOf('\0') >= 0
                || ("/" + name + "/").contains("/../");
    }

    private static Attributes manifest(JarFile jar, Path source) throws BundleRefusedException, IOException {
        JarEntry entry = jar.getJarEntry(JarFile.MANIFEST_NAME);
        if (entry == null) {
            throw refused(source, "has no manifest");
        }
        try (InputStream in = jar.getInputStream(entry)) {
            byte[] bytes = in.readNBytes(MAX_MANIFEST_BYTES + 1);
            if (bytes.length > MAX_MANIFEST_BYTES) {
                throw refused(source, "has a manifest of more than " + MAX_MANIFEST_BYTES + " bytes");
            }
        }
        Manifest manifest = jar.getManifest();
        Attributes main = manifest.getMainAttributes();
        String manifestVersion = main.getValue("Bundle-ManifestVersion");
        if (!"2".equals(manifestVersion == null ? null : manifestVersion.strip())) {
            throw refused(source, "is no OSGi bundle: its manifest has no Bundle-ManifestVersion: 2");
        }
        if (main.getValue("Fragment-Host") != null) {
            throw refused(source, "is a fragment, which can't be installed by itself");
        }
        return main;
    }

    private static String symbolicName(Attributes manifest, Path source) throws BundleRefusedException {
        String header = manifest.getValue("Bundle-SymbolicName");
        String name = header == null
                ? ""
                : ManifestHeader.parse(header).get(0).names().stream()
                        .findFirst()
                        .orElse("");
        if (!name.matches("[A-Za-z0-9_.-]{1," + MAX_NAME_LENGTH + "}")) {
            throw refused(source, "has no usable Bundle-SymbolicName: " + shorten(name));
        }
        return name;
    }

    /**
     * Returns whether two versions of a bundle must not run at the same time: it says so, it is a singleton, or it has
     * scripts, whose functions have no version.
     */
    private static boolean isExclusive(Attributes manifest) {
        String capabilities = manifest.getValue("Provide-Capability");
        return capabilities != null
                        && ManifestHeader.parse(capabilities).stream()
                                .anyMatch(clause -> clause.names().contains(Exclusive.NAMESPACE))
                || ManifestHeader.parse(manifest.getValue("Bundle-SymbolicName"))
                        .get(0)
                        .directive("singleton")
                        .filter("true"::equals)
                        .isPresent()
                || manifest.getValue(StagedJar.SCRIPTS) != null;
    }

    private static Version version(Attributes manifest, Path source) throws BundleRefusedException {
        String header = manifest.getValue("Bundle-Version");
        try {
            return Version.parseVersion(header);
        } catch (IllegalArgumentException e) {
            throw new BundleRefusedException(
                    Reason.NO_BUNDLE, source + " has a Bundle-Version that is none: " + shorten(header), e);
        }
    }

    static String shorten(String text) {
        String printable = text.replaceAll("[^\\x20-\\x7e]", "?");
        return "\"" + (printable.length() > 80 ? printable.substring(0, 80) + "…" : printable) + "\"";
    }

    private static BundleRefusedException refused(Path source, String what) {
        return new BundleRefusedException(Reason.NO_BUNDLE, source + " " + what);
    }
}
