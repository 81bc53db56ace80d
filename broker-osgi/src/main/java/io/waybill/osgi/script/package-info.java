/**
 * Scripts as an operator deploys them: files in a watched directory, or in bundles. They are copied, published as services for the bundle
 * that runs them, replaced when what replaces them was accepted, and listed with what is wrong with them. Nothing here knows libtorch.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.osgi.script.ScriptShelf} holds what is published
 *   <li>{@link io.waybill.osgi.script.ScriptDirectory} and {@link io.waybill.osgi.script.ScriptBundles} put scripts there
 * </ul>
 */
package io.waybill.osgi.script;
