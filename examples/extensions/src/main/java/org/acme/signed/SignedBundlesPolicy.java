package org.acme.signed;

import io.waybill.api.policy.BundleCandidate;
import io.waybill.api.policy.BundlePolicy;
import io.waybill.api.policy.Decision;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.CertPath;
import java.util.HexFormat;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** Allows jars that are signed with one of some certificates. */
@Component
public final class SignedBundlesPolicy implements BundlePolicy {

    private final Set<String> certificates;

    /** Settings in {@code conf/org.acme.signed.SignedBundlesPolicy.cfg}. */
    public @interface Config {
        /** SHA-256 of certificates, in lower-case hexadecimal. */
        String certificates() default "";
    }

    @Activate
    public SignedBundlesPolicy(Config config) {
        certificates = Pattern.compile(",")
                .splitAsStream(config.certificates())
                .map(String::strip)
                .filter(hash -> !hash.isEmpty())
                .collect(Collectors.toUnmodifiableSet());
    }

    @Override
    public Decision decide(BundleCandidate candidate) {
        for (CertPath signer : candidate.signers()) {
            if (certificates.contains(sha256(signer))) {
                return Decision.allow();
            }
        }
        return Decision.deny(
                candidate.signers().isEmpty()
                        ? "the jar is not signed"
                        : "none of its signers is among the certificates");
    }

    private static String sha256(CertPath signer) {
        try {
            byte[] certificate = signer.getCertificates().get(0).getEncoded();
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(certificate));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
