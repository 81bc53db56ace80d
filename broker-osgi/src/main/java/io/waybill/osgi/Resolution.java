package io.waybill.osgi;

import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.StagedJar;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.namespace.PackageNamespace;
import org.osgi.framework.wiring.BundleCapability;
import org.osgi.framework.wiring.BundleRequirement;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.framework.wiring.FrameworkWiring;

/** Resolves a bundle, and describes the missing requirements if it does not resolve. Thread-safe. */
final class Resolution {

    private static final Pattern PACKAGE = Pattern.compile("\\(osgi\\.wiring\\.package=([^)]+)\\)");
    private static final Pattern FROM = Pattern.compile("\\(version>=([^)]+)\\)");
    private static final Pattern UP_TO = Pattern.compile("\\(!\\(version>=([^)]+)\\)\\)");
    /** Packages of other platforms, and of JDK internals, which libraries use if they are available. */
    private static final Pattern OF_A_PLATFORM =
            Pattern.compile("(sun|com\\.sun|jdk|android|dalvik|org\\.graalvm|org\\.conscrypt)(\\..+)?");

    private static final int MAX_NAMED = 5;
    private static final int MAX_TEXT = 500;

    private final FrameworkWiring wiring;

    Resolution(FrameworkWiring wiring) {
        this.wiring = wiring;
    }

    /**
     * Fails unless all requirements of the bundle are available, and lists the missing ones. Runs no code of the
     * bundle.
     */
    void resolve(Bundle bundle, StagedJar jar) throws BundleRefusedException {
        if (wiring.resolveBundles(List.of(bundle))) {
            return;
        }
        List<BundleRequirement> lacking = lacking(bundle);
        String what = lacking.isEmpty() ? resolversOwnWords(bundle) : describe(lacking) + remedy(lacking);
        throw new BundleRefusedException(Reason.UNRESOLVED, jar + " does not resolve: " + what);
    }

    private List<BundleRequirement> lacking(Bundle bundle) {
        List<BundleRequirement> lacking = new ArrayList<>();
        BundleRevision revision = bundle.adapt(BundleRevision.class);
        for (BundleRequirement requirement : revision.getDeclaredRequirements(null)) {
            if (isNeeded(requirement) && providers(requirement, bundle).isEmpty()) {
                lacking.add(requirement);
            }
        }
        return lacking;
    }

    private String describe(List<BundleRequirement> lacking) {
        String named = lacking.stream().limit(MAX_NAMED).map(this::describe).collect(Collectors.joining("; "));
        return lacking.size() > MAX_NAMED ? named + "; and " + (lacking.size() - MAX_NAMED) + " more" : named;
    }

    /**
     * Returns a change to the bundle's build that would help; empty if other versions are available, because another
     * bundle may provide the right one.
     */
    private String remedy(List<BundleRequirement> lacking) {
        Set<String> packages = new TreeSet<>();
        for (BundleRequirement requirement : lacking) {
            String name = value(filter(requirement), PACKAGE, "");
            if (!name.isEmpty()
                    && exportedVersions(name, requirement.getRevision().getBundle())
                            .isEmpty()) {
                packages.add(name);
            }
        }
        if (packages.isEmpty()) {
            return "";
        }
        String optional =
                packages.stream().limit(MAX_NAMED).collect(Collectors.joining(";")) + ";resolution:=optional, *";
        if (packages.stream().anyMatch(name -> OF_A_PLATFORM.matcher(name).matches())) {
            return "; if a library inside the bundle can do without, build it with Import-Package: " + optional;
        }
        return "; install the bundle that exports it, or build this one with -conditionalpackage: "
                + packages.stream().limit(MAX_NAMED).collect(Collectors.joining(", "))
                + " to take the library along, or with Import-Package: " + optional + " if it can do without";
    }

    private static String filter(BundleRequirement requirement) {
        return requirement.getDirectives().getOrDefault(Constants.FILTER_DIRECTIVE, "");
    }

    private static boolean isNeeded(BundleRequirement requirement) {
        String resolution = requirement.getDirectives().get(Constants.RESOLUTION_DIRECTIVE);
        String effective = requirement.getDirectives().get(Constants.EFFECTIVE_DIRECTIVE);
        return (resolution == null || resolution.equals(Constants.RESOLUTION_MANDATORY))
                && (effective == null || effective.equals(Constants.EFFECTIVE_RESOLVE));
    }

    private Collection<BundleCapability> providers(BundleRequirement requirement, Bundle bundle) {
        List<BundleCapability> providers = new ArrayList<>(wiring.findProviders(requirement));
        providers.removeIf(offered -> offered.getRevision().getBundle() != bundle
                && bundle.getSymbolicName().equals(offered.getRevision().getSymbolicName()));
        return providers;
    }

    private String describe(BundleRequirement requirement) {
        String filter = filter(requirement);
        if (!requirement.getNamespace().equals(PackageNamespace.PACKAGE_NAMESPACE)) {
            return "needs " + requirement.getNamespace() + " " + shorten(filter) + ": no bundle provides it";
        }
        String name = value(filter, PACKAGE, "?");
        String exported = exportedVersions(name, requirement.getRevision().getBundle());
        return "needs package " + name + range(filter)
                + (exported.isEmpty() ? ": no bundle exports it" : ": it is exported as " + exported + " only");
    }

    private static String range(String filter) {
        String upTo = value(filter, UP_TO, "");
        String from = value(UP_TO.matcher(filter).replaceAll(""), FROM, "");
        if (upTo.isEmpty()) {
            return from.isEmpty() ? "" : " from " + from + " on";
        }
        return " [" + (from.isEmpty() ? "0" : from) + "," + upTo + ")";
    }

    private static String value(String filter, Pattern pattern, String otherwise) {
        Matcher matcher = pattern.matcher(filter);
        return matcher.find() ? matcher.group(1) : otherwise;
    }

    private String exportedVersions(String packageName, Bundle asking) {
        TreeSet<String> versions = new TreeSet<>();
        for (Bundle bundle : wiring.getBundle().getBundleContext().getBundles()) {
            BundleRevision revision = bundle.adapt(BundleRevision.class);
            if (revision == null || asking.getSymbolicName().equals(bundle.getSymbolicName())) {
                continue;
            }
            for (BundleCapability offered : revision.getDeclaredCapabilities(PackageNamespace.PACKAGE_NAMESPACE)) {
                if (packageName.equals(offered.getAttributes().get(PackageNamespace.PACKAGE_NAMESPACE))) {
                    versions.add(String.valueOf(offered.getAttributes().get(Constants.VERSION_ATTRIBUTE)));
                }
            }
        }
        return String.join(" and ", versions);
    }

    /**
     * Returns the resolver's own message, for causes that the requirements do not show, such as two versions of a
     * package in one bundle. Starts the bundle, which throws the message and runs no code, because the bundle does not
     * resolve.
     */
    private static String resolversOwnWords(Bundle bundle) {
        try {
            bundle.start(Bundle.START_TRANSIENT | Bundle.START_ACTIVATION_POLICY);
            bundle.stop(Bundle.STOP_TRANSIENT);
            return "what it lacked came in just now; try again";
        } catch (BundleException e) {
            return shorten(e.getMessage());
        }
    }

    private static String shorten(String text) {
        String oneLine = text.replaceAll("\\s+", " ");
        return oneLine.length() > MAX_TEXT ? oneLine.substring(0, MAX_TEXT) + "…" : oneLine;
    }
}
