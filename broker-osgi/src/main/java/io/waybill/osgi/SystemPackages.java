package io.waybill.osgi;

import io.waybill.api.handler.MessageHandler;
import io.waybill.osgi.jar.ManifestHeader;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Manifest;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.ComponentContext;
import org.osgi.service.component.propertytypes.ServiceRanking;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;
import org.osgi.service.log.LogLevel;
import org.osgi.util.function.Function;
import org.osgi.util.promise.Promise;
import org.slf4j.Logger;
import org.slf4j.event.Level;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Packages that bundles import from the node's class path: the broker's API, slf4j, and OSGi's service interfaces,
 * which the node shares with SCR and ConfigAdmin. Each has the version from its own manifest: without a version no
 * bundle would resolve.
 */
final class SystemPackages {

    /** One class of each exported package, in addition to all packages of the broker's API. */
    private static final List<Class<?>> SHARED = List.of(
            Logger.class,
            Level.class,
            MessageFormatter.class,
            LoggingEventBuilder.class,
            ConfigurationAdmin.class,
            ComponentContext.class,
            ServiceRanking.class,
            ServiceComponentRuntime.class,
            ComponentDescriptionDTO.class,
            LogLevel.class,
            Function.class,
            Promise.class);

    private SystemPackages() {}

    /** Returns the value of {@code org.osgi.framework.system.packages.extra}. */
    static String extra() {
        List<String> packages = new ArrayList<>();
        for (ManifestHeader clause : exportsBeside(MessageHandler.class)) {
            for (String name : clause.names()) {
                packages.add(export(name, versionOf(clause)));
            }
        }
        for (Class<?> shared : SHARED) {
            packages.add(export(shared.getPackageName(), exportedVersion(shared)));
        }
        return String.join(",", packages);
    }

    private static String export(String packageName, String version) {
        return packageName + ";version=\"" + version + '"';
    }

    /** Returns the version under which the jar of a class exports the class's package. */
    static String exportedVersion(Class<?> shared) {
        for (ManifestHeader clause : exportsBeside(shared)) {
            if (clause.names().contains(shared.getPackageName())) {
                return versionOf(clause);
            }
        }
        throw new IllegalStateException(
                "the manifest beside " + shared.getName() + " exports no package " + shared.getPackageName());
    }

    private static String versionOf(ManifestHeader clause) {
        return clause.attribute("version").orElse("0.0.0");
    }

    /** Returns the exports of the jar of a class. */
    private static List<ManifestHeader> exportsBeside(Class<?> shared) {
        String exports = manifestOf(shared).getMainAttributes().getValue("Export-Package");
        return exports == null ? List.of() : ManifestHeader.parse(exports);
    }

    private static Manifest manifestOf(Class<?> type) {
        String classFile = type.getName().replace('.', '/') + ".class";
        URL url = type.getClassLoader().getResource(classFile);
        String location = url.toString();
        URI manifest =
                URI.create(location.substring(0, location.length() - classFile.length()) + "META-INF/MANIFEST.MF");
        try (InputStream in = manifest.toURL().openStream()) {
            return new Manifest(in);
        } catch (IOException e) {
            throw new UncheckedIOException("no manifest at " + manifest, e);
        }
    }
}
