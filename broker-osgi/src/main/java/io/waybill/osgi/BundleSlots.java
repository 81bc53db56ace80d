package io.waybill.osgi;

import io.waybill.api.admin.BundleInfo.State;
import io.waybill.osgi.guard.StartLevels;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The handler bundles by name, and the abandoned ones. Thread-safe. */
final class BundleSlots {

    private static final Logger LOG = LoggerFactory.getLogger(BundleSlots.class);

    private final BundleContext context;
    private final Map<String, BundleSlot> byName = new TreeMap<>(); // guarded by this
    private final List<BundleSlot> stuck = new ArrayList<>(); // guarded by this

    BundleSlots(BundleContext context) {
        this.context = context;
    }

    synchronized Optional<BundleSlot> find(String symbolicName) {
        return Optional.ofNullable(byName.get(symbolicName));
    }

    BundleSlot require(String symbolicName) throws BundleRefusedException {
        Optional<BundleSlot> slot = find(symbolicName);
        if (slot.isEmpty()) {
            requireNoSystemBundle(symbolicName);
            throw new BundleRefusedException(
                    Reason.UNKNOWN_BUNDLE, "no bundle " + symbolicName + " is installed; there are " + names());
        }
        return slot.get();
    }

    /** Returns a bundle that the framework knows. */
    BundleSlot requireInstalled(String symbolicName) throws BundleRefusedException {
        BundleSlot slot = require(symbolicName);
        if (slot.isGone()) {
            throw new BundleRefusedException(Reason.UNKNOWN_BUNDLE, symbolicName + " is not there: " + BundleSlot.GONE);
        }
        return slot;
    }

    void requireNoSystemBundle(String symbolicName) throws BundleRefusedException {
        for (Bundle bundle : context.getBundles()) {
            if (symbolicName.equals(bundle.getSymbolicName()) && StartLevels.isSystem(bundle)) {
                throw new BundleRefusedException(
                        Reason.SYSTEM_BUNDLE, symbolicName + " is a part of the node and stays as it is");
            }
        }
    }

    synchronized void put(BundleSlot slot) {
        byName.put(slot.symbolicName(), slot);
    }

    synchronized void remove(BundleSlot slot) {
        byName.remove(slot.symbolicName(), slot);
    }

    /** Moves a hanging bundle to the list of abandoned ones; no operation uses it again. */
    synchronized void giveUp(BundleSlot slot) {
        byName.remove(slot.symbolicName(), slot);
        if (!stuck.contains(slot)) {
            stuck.add(slot);
            slot.enter(State.STUCK);
            LOG.error("{} hangs and is given up; it stays in memory until the node ends", slot.jar());
        }
    }

    /** Removes and returns an abandoned bundle; empty if there is none of this name. */
    synchronized Optional<BundleSlot> takeStuck(String symbolicName) {
        Optional<BundleSlot> found = stuck.stream()
                .filter(slot -> slot.symbolicName().equals(symbolicName))
                .findFirst();
        found.ifPresent(stuck::remove);
        return found;
    }

    /** Returns all slots, by name, and then those that were abandoned. */
    synchronized List<BundleSlot> all() {
        List<BundleSlot> all = new ArrayList<>(byName.values());
        all.addAll(stuck);
        return all;
    }

    private synchronized String names() {
        return byName.isEmpty() ? "none" : String.join(", ", byName.keySet());
    }
}
