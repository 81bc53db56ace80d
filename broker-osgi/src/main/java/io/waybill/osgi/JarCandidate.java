package io.waybill.osgi;

import io.waybill.api.policy.BundleCandidate;
import io.waybill.osgi.jar.StagedJar;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.security.cert.CertPath;
import java.util.List;
import java.util.Optional;

/** A staged jar, as a bundle policy sees it. */
record JarCandidate(StagedJar jar, Optional<StagedJar> installed, Origin origin) implements BundleCandidate {

    @Override
    public String symbolicName() {
        return jar.symbolicName();
    }

    @Override
    public String version() {
        return jar.version().toString();
    }

    @Override
    public Optional<String> installedVersion() {
        return installed.map(bundle -> bundle.version().toString());
    }

    @Override
    public Path source() {
        return jar.source();
    }

    @Override
    public String sha256() {
        return jar.sha256();
    }

    @Override
    public List<CertPath> signers() {
        return jar.signers();
    }

    @Override
    public InputStream open() throws IOException {
        return jar.open();
    }
}
