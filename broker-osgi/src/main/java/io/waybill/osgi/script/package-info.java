/**
 * Scripts deployed by an operator: files in a watched directory, or in bundles. They are copied, published as services
 * for the bundle that runs them, replaced after their successor was accepted, and listed with their problems. This
 * package does not depend on libtorch.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.osgi.script.ScriptShelf} holds the published scripts
 *   <li>{@link io.waybill.osgi.script.ScriptDirectory} and {@link io.waybill.osgi.script.ScriptBundles} put scripts
 *   there
 * </ul>
 */
package io.waybill.osgi.script;
