package io.waybill.api.handler;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.annotation.bundle.Capability;

/**
 * Declares, on any class of a bundle, that two versions of the bundle must not run at the same time, because a running
 * one holds something that exists once: a port, a lock, a device, a worker's name, a native library. An update then
 * stops the old version before it starts the new one, and requests {@linkplain MessageHandler wait} in between. Without
 * this declaration the new version starts while the old one serves.
 *
 * <p>bnd writes the capability {@value #NAMESPACE} into the bundle's manifest; a manifest that is written otherwise
 * says {@code Provide-Capability: waybill.exclusive}. A bundle that declares itself a singleton is exclusive, too.
 */
@Capability(namespace = Exclusive.NAMESPACE)
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.TYPE)
public @interface Exclusive {

    /** Namespace of the capability. */
    String NAMESPACE = "waybill.exclusive";
}
